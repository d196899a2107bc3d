// Random bytes from the kernel, for secrets, tokens and ports. Not for simulations: those take a seed.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace tfabric {

void fill_random(std::span<std::byte> bytes);
[[nodiscard]] std::uint64_t random_u64();

}  // namespace tfabric
