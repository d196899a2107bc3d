#include "transport/tcp/rails/nic_rail.h"

#include <fmt/format.h>

#include "base/random.h"
#include "config/address.h"
#include "host/interfaces.h"
#include "transport/tcp/nic/memif_socket.h"
#include "transport/tcp/nic/vhost_socket.h"
#include "transport/tcp/rails/af_xdp_interface.h"
#include "transport/tcp/rails/kernel_neighbours.h"
#include "transport/tcp/rails/memif_rail.h"

namespace tfabric::tcp {
namespace {

Result<net::InterfaceConfig> interface_of(const config::Rail& config, net::MacAddress mac,
                                          std::uint16_t mtu) {
  net::InterfaceConfig interface { .name = config.name, .mac = mac, .mtu = mtu, .vlan = config.vlan };
  for (const std::string& text : config.addresses) {
    const auto prefix = net::parse_prefix(text);
    if (!prefix) {
      return Error{
          Errc::invalid_usage,
          fmt::format("rail {}: address \"{}\" is not like 10.0.0.5/24 or fd00::5/64", config.name, text)};
    }
    interface.addresses.push_back(*prefix);
  }
  if (interface.addresses.empty()) {
    return Error{Errc::invalid_usage,
                 fmt::format("rail {}: no address is configured (tcp.rails.addresses)", config.name)};
  }
  if (!config.gateway.empty()) {
    interface.gateway_v4 = net::parse_ip(config.gateway);
  }
  if (!config.gateway6.empty()) {
    interface.gateway_v6 = net::parse_ip(config.gateway6);
  }
  return interface;
}

// A TAP's port has the MAC address of the kernel's end, which is another host to us, and all vhost ends have
// the same.
bool has_own_mac(config::RailKind kind) {
  return kind != config::RailKind::tap && kind != config::RailKind::vhost;
}

net::MacAddress random_mac() {
  net::MacAddress mac;
  fill_random(std::as_writable_bytes(std::span(mac.bytes)));
  constexpr unsigned kLocal = 0x02, kGroup = 0x01;  // IEEE 802: locally administered, not a group
  mac.bytes[0] = static_cast<std::uint8_t>((mac.bytes[0] | kLocal) & ~kGroup);
  return mac;
}

// Jobs start their processes all at once, so a client waits for its server.
Status prepare_socket(const config::Rail& config) {
  constexpr Duration kPatience = std::chrono::seconds(10);
  Status ready;
  if (config.kind == config::RailKind::vhost) {
    ready = nic::free_vhost_socket(config.device);
  } else if (config.kind == config::RailKind::virtio_user) {
    ready = nic::await_vhost(config.device, kPatience);
  } else {
    ready = config.role == config::MemifRole::server ? nic::free_memif_socket(config.device)
                                                     : nic::await_memif_server(config.device, kPatience);
  }
  return ready ? ready
               : Error{ready.error().code, fmt::format("rail {}: {}", config.name, ready.error().message)};
}

// As many as the process has engines, of which other rails may have left it few.
Status check_queues(const config::Rail& config, std::size_t engines) {
  const host::Interface interface { .name = config.device, .channels = host::channels_of(config.device) };
  const auto fault = af_xdp_queue_fault(interface, config, static_cast<std::uint32_t>(engines));
  return fault ? Status(Error{Errc::unusable,
                              fmt::format("rail {}: {}: {}", config.name, fault->what, fault->fix)})
               : Status();
}

std::optional<nic::xdp::Part> part_of(const config::Rail& config, const engine::PortMap& ports) {
  if (!config::has_queue_subset(config)) {
    return std::nullopt;
  }
  nic::xdp::Part part{.first_queue = config.queues.first, .ports = {}, .addresses = {}};
  for (std::uint16_t e = 0; e < ports.engines(); ++e) {
    const std::uint32_t first = ports.first_of(e);
    part.ports.push_back({.first = first, .last = first + ports.count_of(e) - 1});
  }
  for (const std::string& text : config.addresses) {
    if (const auto prefixed = config::parse_prefixed(text)) {
      part.addresses.push_back(config::mapped(prefixed->bytes));
    }
  }
  return part;
}

config::Rail local_rail_of(const config::Rail& part) {
  config::Rail rail{.name = part.name, .kind = config::RailKind::memif};
  rail.receive_window = part.receive_window;
  rail.receive_memory = part.receive_memory;
  return rail;
}

TransmitAccess access_of(config::RailKind kind) {
  switch (kind) {
    case config::RailKind::pci:
      return TransmitAccess::dma;
    case config::RailKind::virtio_user:
      return TransmitAccess::shared;
    default:
      return TransmitAccess::cpu;
  }
}

}  // namespace

NicRail::NicRail(const config::Rail& config, engine::Link* network, engine::Link* loop,
                 std::unique_ptr<Rail> local)
    : Rail(config),
      address_(network->interface().config().addresses.front().address),
      network_(network),
      loop_(loop),
      local_(std::move(local)) {}

Result<std::vector<std::unique_ptr<Rail>>> NicRail::open(const config::Rail& config,
                                                         std::span<engine::Engine* const> engines,
                                                         const engine::PortMap& ports, bool announce) {
  if (config::has_socket(config)) {
    if (Status ready = prepare_socket(config); !ready) {
      return ready.error();
    }
  }
  if (config.kind == config::RailKind::af_xdp) {
    if (Status whole = check_queues(config, engines.size()); !whole) {
      return whole.error();
    }
  }
  const auto mtu = static_cast<std::uint16_t>(effective_mtu(config));
  const auto queues = static_cast<std::uint16_t>(engines.size());
  auto opened = nic::Port::open_queues({.name = config.name,
                                        .device = device_arguments(config, mtu, queues),
                                        .part = part_of(config, ports),
                                        .mtu = mtu,
                                        .rx_buffers = receive_buffers(mtu)},
                                       queues);
  if (!opened) {
    return opened.error();
  }
  const net::MacAddress mac = has_own_mac(config.kind) ? opened->front()->mac() : random_mac();
  Result<net::InterfaceConfig> interface = interface_of(config, mac, mtu);
  if (!interface) {
    return interface.error();
  }
  // With itself a process talks over loops, which lead from an engine to itself; what is for another one goes
  // the way that it goes from a wrong queue.
  const bool shared = engines.size() > 1;
  const auto network_exchange = shared ? std::make_shared<engine::Exchange>(ports) : nullptr;
  const auto loop_exchange = shared ? std::make_shared<engine::Exchange>(ports) : nullptr;
  std::vector<std::unique_ptr<Rail>> rails;
  for (std::uint16_t e = 0; e < queues; ++e) {
    Result<std::unique_ptr<engine::Link>> loop = make_loop_link(
        config.name, *interface, {.exchange = loop_exchange, .self = e}, (*opened)[e]->rx_pool());
    if (!loop) {
      return loop.error();
    }
    net::InterfaceConfig outward = *interface;
    std::unique_ptr<Rail> local;
    if (config::has_queue_subset(config)) {
      Result<std::unique_ptr<Rail>> memif =
          MemifRail::open(local_rail_of(config), *engines[e], engines.size());
      if (!memif) {
        return memif.error();
      }
      local = std::move(*memif);
      auto neighbours = KernelNeighbours::open(config.name, config.device);
      if (!neighbours) {
        return neighbours.error();
      }
      outward.neighbours = std::move(*neighbours);
    }
    auto network = std::make_unique<engine::Link>(
        std::move((*opened)[e]), std::move(outward),
        link_options(config, access_of(config.kind), make_receive_share(config, engines.size())),
        engine::ExchangeMember{.exchange = network_exchange, .self = e, .hashed = shared});
    rails.push_back(std::unique_ptr<Rail>(new NicRail(config, network.get(), loop->get(), std::move(local))));
    const EngineGuard guard(engines[e]->lock());
    engines[e]->add_link(std::move(network), announce);
    engines[e]->add_link(std::move(*loop));
  }
  return rails;
}

Result<Route> NicRail::route_to(const net::IpAddress& peer, std::uint64_t peer_process) {
  const bool on_this_host = network_->interface().owns(peer);
  if (on_this_host && local_ != nullptr && peer_process != local_->process()) {
    return local_->route_to(peer, peer_process);
  }
  return Route{.link = on_this_host ? loop_ : network_, .remote = peer};
}

}  // namespace tfabric::tcp
