// The bytes that a simulated application writes: pseudo-random ones out of one table, so that a run neither
// makes nor compares them one by one.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace tfabric::simulation {

inline constexpr std::size_t kLongestPiece = 512u << 10;

// `size` bytes, at most kLongestPiece, at `offset` of the stream `stream`. They repeat after about a million
// bytes, a prime number of them. Valid for ever.
[[nodiscard]] std::span<const std::byte> stream_bytes(std::uint64_t stream, std::uint64_t offset,
                                                      std::size_t size);

}  // namespace tfabric::simulation
