// Whether DPDK has enough devices and queues for the rails of a process.
#include <fmt/format.h>

#include "config/keys.h"
#include "transport/tcp/diagnosis/examine.h"
#include "transport/tcp/nic/port.h"
#include "transport/tcp/rails/limits.h"
#include "transport/tcp/rails/rail_share.h"

namespace tfabric::tcp {
namespace {

using diagnosis::Id;

constexpr const char* kSubject = "configuration";

void check_engines(const config::Tcp& config, Findings& findings) {
  for (const config::Rail& rail : config.rails) {
    const auto queues = queues_by_kind(rail);
    if (queues && *queues < config.engines) {
      findings.warning(
          Id::engines_too_many, "rail " + rail.name,
          fmt::format("tcp.engines is {}, and a rail of the kind {} has {} queue(s) at most: a process "
                      "that has this rail runs {} engine(s)",
                      config.engines, config::to_string(rail.kind), *queues, *queues),
          fmt::format("tcp.engines = {}", *queues));
    }
  }
}

// How many processes the host runs is known only if this one was started as a rank is.
void check_wires(const config::Config& config, const config::Tcp& process, Findings& findings) {
  const std::uint32_t processes = config.launcher.local_size.value_or(1);
  const std::size_t wires = wires_of(process, processes);
  const std::size_t devices = devices_of(process) + wires;
  if (wires > 0 && devices > nic::kMostDevices) {
    findings.warning(
        Id::wires_too_many, kSubject,
        fmt::format(
            "if each of {} processes talks to all others of this host, it needs {} devices of DPDK for its "
            "rails and memif wires, and DPDK has {} a process: connecting fails where none is left",
            processes, devices, nic::kMostDevices),
        process.engines > 1 ? "tcp.engines = 1, or fewer processes" : "fewer processes on this host");
  }
}

}  // namespace

void check_limits(const config::Config& config, Findings& findings) {
  const config::Tcp process = largest_share(config);
  if (const Status status = check_devices(process); !status) {
    findings.error(Id::rails_too_many, kSubject, status.error().message, "as the message says");
  } else {
    check_wires(config, process, findings);
  }
  check_engines(config.tcp, findings);
}

}  // namespace tfabric::tcp
