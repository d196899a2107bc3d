// Test data that shows a wrong byte, a byte of another message and a byte at a wrong place.
//
// Each 8-byte word depends on the message's seed and on the word's place in the message.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace tfabric::perf {

// The seed of message number `message` on lane `lane` in the direction away from `from_server`.
[[nodiscard]] std::uint64_t message_seed(std::uint64_t lane, std::uint64_t message, bool from_server);

void fill_pattern(std::span<std::byte> data, std::uint64_t seed);
// How many bytes differ from what fill_pattern() wrote.
[[nodiscard]] std::uint64_t count_wrong(std::span<const std::byte> data, std::uint64_t seed);

// A guard area behind a receive buffer: bytes beyond the message must stay as they were.
void fill_guard(std::span<std::byte> guard);
[[nodiscard]] std::uint64_t count_overrun(std::span<const std::byte> guard);

}  // namespace tfabric::perf
