// What a process is refused, whether DPDK has enough devices and queues for its rails, and what NCCL is shown
// of them.
#include <fmt/format.h>

#include "config/keys.h"
#include "transport/rails/diagnosis/examine.h"
#include "transport/rails/limits.h"
#include "transport/rails/process_limits.h"
#include "transport/rails/rail_kinds.h"
#include "transport/rails/rail_share.h"

namespace tfabric::rails {

using diagnosis::Id;

void check_process(const config::Config& config, Findings& findings) {
  if (const auto fault = process_fault(config.tcp, process_limits())) {
    findings.error(Id::process_limited, "process", fault->what, fault->fix);
  }
}

void check_speed(const config::Rail& rail, Findings& findings) {
  const RailKindTraits& kind = traits_of(rail.kind);
  const bool reported = kind.driver_reports_speed || config::is_kernel_interface(rail);
  if (!reported || known_speed_mbps(rail) != 0) {
    return;
  }
  findings.note(
      Id::speed_unknown, "rail " + rail.name,
      kind.driver_reports_speed
          ? fmt::format("NCCL is shown the speed that the NIC's driver reports, or {} Mbit/s if it reports "
                        "none, as on most clouds",
                        kind.default_speed_mbps)
          : fmt::format("the driver of {} reports no speed, so NCCL is shown {} Mbit/s", rail.device,
                        kind.default_speed_mbps),
      "speed_mbps = the NIC's true speed, on all hosts");
}

namespace {

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

}  // namespace

void check_limits(const config::Config& config, Findings& findings) {
  const config::Tcp process = largest_share(config);
  if (const Status status = check_devices(process); !status) {
    findings.error(Id::rails_too_many, "configuration", status.error().message, "as the message says");
  }
  check_engines(config.tcp, findings);
}

}  // namespace tfabric::rails
