// Who a process is, as the two ends of a comm say it to each other where nothing else does: 72 bytes, all
// little-endian.
//
//   rank 4 | pid 4 | host 64
#pragma once

#include <array>
#include <cstddef>
#include <optional>
#include <span>

#include "observe/verdict/process.h"

namespace tfabric::watchdog {

inline constexpr std::size_t kIntroductionBytes = 72;
[[nodiscard]] std::array<std::byte, kIntroductionBytes> encode(const verdict::Process& process);
// Returns nothing if there are fewer bytes; a later version may have more. The host's name is made printable.
[[nodiscard]] std::optional<verdict::Process> decode_introduction(std::span<const std::byte> bytes);

}  // namespace tfabric::watchdog
