// What several keys of a configuration must be together.
#include <fmt/format.h>

#include <algorithm>
#include <cstdint>

#include "config/reading.h"

namespace tfabric::config {
namespace {

// Each engine has its own ports: a share of local_ports, and one listening port from `port` on.
void validate_engines(const Tcp& tcp, std::vector<std::string>& errors) {
  constexpr std::uint32_t kLastPort = 65535;
  const std::uint32_t ports = tcp.local_ports.last - tcp.local_ports.first + 1u;
  if (ports < kFewestPorts * tcp.engines) {
    errors.push_back(
        fmt::format("tcp.local_ports: {} ports are too few for {} engines, expected at least {}: each engine "
                    "takes {} of its own",
                    ports, tcp.engines, kFewestPorts * tcp.engines, kFewestPorts));
  }
  if (tcp.port != 0 && tcp.port + tcp.engines - 1 > kLastPort) {
    errors.push_back(fmt::format(
        "tcp.port: {} engines listen on the ports {} to {}, expected none beyond 65535: choose a lower port",
        tcp.engines, tcp.port, tcp.port + tcp.engines - 1));
  }
}

}  // namespace

void validate_together(const Config& config, std::vector<std::string>& errors) {
  const Tcp& tcp = config.tcp;
  validate_engines(tcp, errors);
  for (const Rail& rail : tcp.rails) {
    if (has_queue_subset(rail) && tcp.port != 0) {
      errors.push_back(fmt::format(
          "tcp.port is {}, but each process on the queues of rail {} listens on one of their own ports: set "
          "tcp.port = 0",
          tcp.port, rail.name));
    }
  }
  const bool bond = tcp.bond == Switch::on;
  if (bond && tcp.rails.size() > 1 && std::any_of(tcp.rails.begin(), tcp.rails.end(), is_automatic_memif)) {
    errors.push_back(
        "tcp.bond: a memif rail without a device makes its own connections and cannot be bonded with others");
  }
  if (bond && tcp.rails.size() > kMostBonded) {
    errors.push_back(fmt::format("tcp.bond: {} rails are configured, at most {} can be bonded",
                                 tcp.rails.size(), kMostBonded));
  }
}

}  // namespace tfabric::config
