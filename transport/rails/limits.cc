#include "transport/rails/limits.h"

#include <fmt/format.h>

#include <algorithm>

#include "transport/rails/rail_kinds.h"
#include "transport/tcp/nic/port.h"

namespace tfabric::rails {

std::size_t devices_of(const config::Tcp& process) {
  return static_cast<std::size_t>(
      std::count_if(process.rails.begin(), process.rails.end(), [](const config::Rail& rail) {
        return !config::is_automatic_memif(rail) && traits_of(rail.kind).device_arguments != nullptr;
      }));
}

Status check_devices(const config::Tcp& process) {
  const std::size_t devices = devices_of(process);
  if (devices <= nic::kMostDevices) {
    return {};
  }
  return Error{
      Errc::unusable,
      fmt::format("this process has {} rails, and DPDK can open {} devices a process: fewer rails, or more "
                  "processes on this host, or a lower tcp.rails_per_process",
                  devices, nic::kMostDevices)};
}

std::optional<std::uint16_t> queues_by_kind(const config::Rail& rail) {
  const RailKindTraits& kind = traits_of(rail.kind);
  if (config::is_nic(rail) || kind.needs_engine_per_queue) {
    return std::nullopt;
  }
  const Result<std::uint16_t> queues = kind.queues(rail);
  return queues ? std::optional(*queues) : std::nullopt;
}

}  // namespace tfabric::rails
