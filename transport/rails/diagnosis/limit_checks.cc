// Whether DPDK has enough devices and queues for the rails of a process.
#include <fmt/format.h>

#include "config/keys.h"
#include "transport/rails/diagnosis/examine.h"
#include "transport/rails/limits.h"
#include "transport/rails/rail_share.h"

namespace tfabric::rails {
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

}  // namespace

void check_limits(const config::Config& config, Findings& findings) {
  const config::Tcp process = largest_share(config);
  if (const Status status = check_devices(process); !status) {
    findings.error(Id::rails_too_many, kSubject, status.error().message, "as the message says");
  }
  check_engines(config.tcp, findings);
}

}  // namespace tfabric::rails
