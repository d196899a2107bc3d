#include "transport/rails/queue_subset.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/log.h"
#include "config/address.h"
#include "host/interfaces.h"

namespace tfabric::rails {

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

nic::xdp::QueueSubset xdp_subset_of(const config::Rail& rail, const link::PortMap& ports) {
  nic::xdp::QueueSubset subset{.first_queue = rail.queues.first, .ports = {}, .addresses = {}};
  for (std::uint16_t e = 0; e < ports.engines(); ++e) {
    const std::uint32_t first = ports.first_of(e);
    subset.ports.push_back({.first = first, .last = first + ports.count_of(e) - 1});
  }
  for (const std::string& text : rail.addresses) {
    if (const auto prefixed = config::parse_prefixed(text)) {
      subset.addresses.push_back(config::mapped(prefixed->bytes));
    }
  }
  return subset;
}

config::Rail local_rail_of(const config::Rail& rail) {
  config::Rail local{.name = rail.name, .kind = config::RailKind::memif};
  local.receive_window = rail.receive_window;
  local.receive_memory = rail.receive_memory;
  return local;
}

Result<std::shared_ptr<KernelNeighbours>> KernelNeighbours::open(const std::string& rail,
                                                                 const std::string& interface) {
  auto kernel = host::Neighbours::open(interface);
  if (!kernel) {
    return Error{kernel.error().code, fmt::format("rail {}: {}", rail, kernel.error().message)};
  }
  return std::shared_ptr<KernelNeighbours>(new KernelNeighbours(rail, std::move(*kernel)));
}

void KernelNeighbours::ask(const net::IpAddress& address) {
  if (const Status asked = kernel_.resolve(net::octets_of(address)); !asked) {
    if (!std::exchange(warned_, true)) {
      TF_WARN("NET/tfabric: rail {}: {} ({})", rail_, asked.error().message, net::to_string(address));
    }
    return;
  }
  want(address, /*verified=*/false);
}

void KernelNeighbours::verify(const net::IpAddress& address) {
  if (kernel_.verify(net::octets_of(address))) {
    want(address, /*verified=*/true);
  } else {
    ask(address);  // the kernel has forgotten it, or had no answer
  }
}

void KernelNeighbours::want(const net::IpAddress& address, bool verified) {
  const auto found = std::find_if(wanted_.begin(), wanted_.end(),
                                  [&](const Wanted& wanted) { return wanted.address == address; });
  if (found == wanted_.end()) {
    wanted_.push_back({.address = address, .verified = verified});
  } else {
    found->verified |= verified;
  }
}

std::optional<net::Neighbour> KernelNeighbours::next() {
  using Kind = host::Neighbours::Answer::Kind;
  for (auto wanted = wanted_.begin(); wanted != wanted_.end();) {
    const host::Neighbours::Answer answer = kernel_.find(net::octets_of(wanted->address));
    const bool remembered = answer.kind == Kind::known && !answer.confirmed;
    if (answer.kind == Kind::pending || (remembered && wanted->verified)) {
      ++wanted;
      continue;
    }
    const net::IpAddress address = wanted->address;
    wanted = wanted_.erase(wanted);
    if (answer.kind == Kind::known) {
      return net::Neighbour{.address = address, .mac = {answer.mac}};
    }
  }
  return std::nullopt;
}

}  // namespace tfabric::rails
