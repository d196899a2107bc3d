// What this process is refused, whatever its rails, and what NCCL is shown of them.
#include <fmt/format.h>

#include "transport/rails/diagnosis/examine.h"
#include "transport/rails/process_limits.h"
#include "transport/rails/rail_kinds.h"

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

}  // namespace tfabric::rails
