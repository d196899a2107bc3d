#include "transport/rdma/discovery/link_speed.h"

#include <charconv>
#include <string>

namespace tfabric::rdma {
namespace {

std::uint32_t lanes(std::uint8_t active_width) {
  switch (active_width) {
    case 1:
      return 1;
    case 2:
      return 4;
    case 4:
      return 8;
    case 8:
      return 12;
    case 16:
      return 2;
    default:
      return 0;
  }
}

std::uint32_t lane_mbps(std::uint8_t active_speed) {
  switch (active_speed) {
    case 1:
      return 2500;  // SDR
    case 2:
      return 5000;  // DDR
    case 4:         // QDR
    case 8:
      return 10000;  // FDR10
    case 16:
      return 14000;  // FDR
    case 32:
      return 25000;  // EDR
    case 64:
      return 50000;  // HDR
    case 128:
      return 100000;  // NDR
    default:
      return 0;
  }
}

}  // namespace

std::uint32_t link_speed_mbps(std::uint8_t active_width, std::uint8_t active_speed) {
  return lanes(active_width) * lane_mbps(active_speed);
}

std::uint32_t rate_mbps(std::string_view rate) {
  constexpr std::uint32_t kMostGbps = 1000000;
  const char* end = rate.data() + rate.size();
  std::uint32_t gbps = 0, tenths = 0;
  auto [at, error] = std::from_chars(rate.data(), end, gbps);
  if (error == std::errc() && at != end && *at == '.') {
    const char* fraction = at + 1;
    const auto parsed = std::from_chars(fraction, end, tenths);
    at = parsed.ptr;
    // The kernel writes one digit.
    error = parsed.ec == std::errc() && at == fraction + 1 ? std::errc() : std::errc::invalid_argument;
  }
  const bool known = error == std::errc() && gbps <= kMostGbps &&
                     std::string_view(at, static_cast<std::size_t>(end - at)).starts_with(" Gb/sec");
  return known ? gbps * 1000 + tenths * 100 : 0;
}

}  // namespace tfabric::rdma
