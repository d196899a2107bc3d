#include "transport/tcp/rails/queue_ports.h"

#include <fmt/format.h>

#include <algorithm>

#include "host/interfaces.h"

namespace tfabric::tcp {

config::PortRange ports_of(const config::PortRange& all, const config::QueueRange& queues,
                           std::uint32_t channels) {
  const std::uint32_t each = (all.last - all.first + 1u) / std::max(channels, 1u);
  return {.first = static_cast<std::uint16_t>(all.first + queues.first * each),
          .last = static_cast<std::uint16_t>(all.first + queues.end() * each - 1)};
}

Result<config::PortRange> ports_of(const config::Tcp& process) {
  const config::Rail* first = nullptr;
  config::PortRange ports = process.local_ports;
  for (const config::Rail& rail : process.rails) {
    if (!config::has_queue_subset(rail)) {
      continue;
    }
    const std::uint32_t channels = host::channels_of(rail.device).combined;
    const config::PortRange own = ports_of(process.local_ports, rail.queues, channels);
    const std::uint32_t each = (own.last - own.first + 1u) / rail.queues.count;
    if (each < config::kFewestPorts) {
      return Error{Errc::unusable,
                   fmt::format("rail {}: {} queues of the interface {} share the TCP ports {}-{} "
                               "(tcp.local_ports), and each needs {}: ethtool -L {} combined N, with fewer",
                               rail.name, channels, rail.device, process.local_ports.first,
                               process.local_ports.last, config::kFewestPorts, rail.device)};
    }
    if (first == nullptr) {
      first = &rail;
      ports = own;
    } else if (own.first != ports.first || own.last != ports.last) {
      return Error{Errc::unusable,
                   fmt::format("this process has the rails {} and {}, whose queues have different TCP ports "
                               "({}-{} and {}-{}): all rails of a process must be the same queues of "
                               "interfaces with equally many (docs/rails.md)",
                               first->name, rail.name, ports.first, ports.last, own.first, own.last)};
    }
  }
  return ports;
}

}  // namespace tfabric::tcp
