#include "host/dpdk_nics.h"

#include <algorithm>
#include <cstdint>
#include <iterator>

namespace tfabric::host {
namespace {

struct Row {
  std::uint16_t vendor, device;
  std::string_view driver;
};

constexpr Row kRows[] = {
#include "dpdk_nics.inc"
};

}  // namespace

std::string_view dpdk_driver_of(const PciFunction& function) {
  const auto* const row = std::find_if(std::begin(kRows), std::end(kRows), [&](const Row& candidate) {
    return candidate.vendor == function.vendor && candidate.device == function.device;
  });
  return row == std::end(kRows) ? std::string_view() : row->driver;
}

}  // namespace tfabric::host
