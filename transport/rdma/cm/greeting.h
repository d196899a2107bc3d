// What a request of the connection manager brings, by which the listening comm knows whose it is.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

namespace tfabric::rdma::cm {

struct Greeting {
  std::uint64_t token = 0;  // the listening comm's, as its answer told
  std::uint8_t pair = 0;    // which queue pair of the comm is meant
};

// Both little-endian, one after the other. What follows is not looked at: InfiniBand's requests carry private
// data of one length, the rest of which is zero.
inline constexpr std::size_t kGreetingBytes = 9;

[[nodiscard]] std::array<std::byte, kGreetingBytes> encode(const Greeting& greeting);
[[nodiscard]] std::optional<Greeting> parse_greeting(std::span<const std::byte> bytes);

}  // namespace tfabric::rdma::cm
