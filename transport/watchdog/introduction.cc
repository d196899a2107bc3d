#include "transport/watchdog/introduction.h"

#include <algorithm>
#include <cstdint>
#include <string_view>

#include "base/little_endian.h"
#include "base/printable.h"

namespace tfabric::watchdog {
namespace {

constexpr std::size_t kRankAt = 0, kPidAt = 4, kHostAt = 8;
constexpr std::size_t kHostBytes = kIntroductionBytes - kHostAt;

}  // namespace

std::array<std::byte, kIntroductionBytes> encode(const verdict::Process& process) {
  std::array<std::byte, kIntroductionBytes> bytes{};
  put_little_endian(&bytes[kRankAt], static_cast<std::uint32_t>(process.rank));
  put_little_endian(&bytes[kPidAt], process.pid);
  const auto host = std::as_bytes(std::span(process.host));
  std::copy_n(host.begin(), std::min(host.size(), kHostBytes), bytes.begin() + kHostAt);
  return bytes;
}

std::optional<verdict::Process> decode_introduction(std::span<const std::byte> bytes) {
  if (bytes.size() < kIntroductionBytes) {
    return std::nullopt;
  }
  const std::string_view host(reinterpret_cast<const char*>(&bytes[kHostAt]), kHostBytes);
  return verdict::Process{
      .rank = std::max(-1, static_cast<std::int32_t>(get_little_endian<std::uint32_t>(&bytes[kRankAt]))),
      .pid = get_little_endian<std::uint32_t>(&bytes[kPidAt]),
      .host = printable(host.substr(0, host.find('\0')))};
}

}  // namespace tfabric::watchdog
