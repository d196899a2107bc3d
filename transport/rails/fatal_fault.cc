#include "transport/rails/fatal_fault.h"

#include <fmt/format.h>

#include <algorithm>

#include "transport/rails/preflight.h"

namespace tfabric::rails {
namespace {

Error error_of(const transport::RailFault& fault) {
  return {Errc::unusable, fmt::format("rail {}: {}", fault.rail, describe(fault))};
}

}  // namespace

std::optional<Error> fatal_fault(const RailPlan& plan, std::span<const transport::RailFault> faults) {
  for (const transport::RailFault& fault : faults) {
    if (fault.kind == transport::RailFault::Kind::address_taken) {
      return error_of(fault);
    }
  }
  const auto fault_of = [&](std::size_t rail) { return find_fault(plan.own.tcp.rails[rail].name, faults); };
  const auto works = [&](std::size_t rail) { return fault_of(rail) == nullptr; };
  for (const DevicePlan& device : plan.devices) {
    const bool own = std::any_of(device.rails.begin(), device.rails.end(), works);
    const bool other =
        !plan.own.required && (!plan.lifeboats.empty() || !device.lifeboats.empty() ||
                               std::any_of(device.reserve.begin(), device.reserve.end(), works));
    if (!own && !other && !device.rails.empty()) {
      return error_of(*fault_of(device.rails.front()));
    }
  }
  return std::nullopt;
}

}  // namespace tfabric::rails
