#include "transport/rails/nic_rail.h"

#include <fmt/format.h>

#include "base/log.h"
#include "base/random.h"
#include "transport/rails/local_rail.h"
#include "transport/rails/memory_need.h"
#include "transport/rails/queue_subset.h"
#include "transport/rails/rail_kinds.h"
#include "transport/rails/rail_links.h"
#include "transport/tcp/link/tcp.h"

namespace tfabric::rails {
namespace {

Result<std::vector<net::Prefix>> addresses_of(const config::Rail& config) {
  std::vector<net::Prefix> addresses;
  for (const std::string& text : config.addresses) {
    const auto prefix = net::parse_prefix(text);
    if (!prefix) {
      return Error{
          Errc::invalid_usage,
          fmt::format("rail {}: address \"{}\" is not like 10.0.0.5/24 or fd00::5/64", config.name, text)};
    }
    addresses.push_back(*prefix);
  }
  if (addresses.empty()) {
    return Error{Errc::invalid_usage,
                 fmt::format("rail {}: no address is configured (tcp.rails.addresses)", config.name)};
  }
  return addresses;
}

net::InterfaceConfig interface_of(const config::Rail& config, const std::vector<net::Prefix>& addresses,
                                  net::MacAddress mac, std::uint16_t mtu) {
  net::InterfaceConfig interface {
    .name = config.name, .mac = mac, .mtu = mtu, .addresses = addresses, .vlan = config.vlan
  };
  if (!config.gateway.empty()) {
    interface.gateway_v4 = net::parse_ip(config.gateway);
  }
  if (!config.gateway6.empty()) {
    interface.gateway_v6 = net::parse_ip(config.gateway6);
  }
  return interface;
}

net::MacAddress random_mac() {
  net::MacAddress mac;
  fill_random(std::as_writable_bytes(std::span(mac.bytes)));
  constexpr unsigned kLocal = 0x02, kGroup = 0x01;  // IEEE 802: locally administered, not a group
  mac.bytes[0] = static_cast<std::uint8_t>((mac.bytes[0] | kLocal) & ~kGroup);
  return mac;
}

// Opens the device with a queue pair for each engine; a port each.
Result<std::vector<std::unique_ptr<nic::Port>>> open_ports(const config::Rail& config,
                                                           const std::vector<net::Prefix>& addresses,
                                                           std::size_t engines, const link::PortMap& ports) {
  const RailKindTraits& kind = traits_of(config.kind);
  if (kind.prepare != nullptr) {
    if (Status ready = kind.prepare(config, engines); !ready) {
      return ready.error();
    }
  }
  const auto mtu = static_cast<std::uint16_t>(effective_mtu(config));
  const auto queues = static_cast<std::uint16_t>(engines);
  std::optional<nic::xdp::QueueSubset> subset;
  if (config::has_queue_subset(config)) {
    subset = xdp_subset_of(config, ports);
  }
  nic::PortConfig port{.name = config.name,
                       .device = {},
                       .queue_subset = std::move(subset),
                       .mtu = mtu,
                       .rx_buffers = receive_buffers(buffer_mtu(config)),
                       .rx_buffer_mtu = buffer_mtu(config)};
  if (kind.open_pipes != nullptr) {
    auto pipes = kind.open_pipes(config, addresses, mtu, queues);
    if (!pipes) {
      return pipes.error();
    }
    port.pipes = std::move(*pipes);
  } else {
    port.device = kind.device_arguments(config, mtu, queues);
  }
  return nic::Port::open_queues(port, queues);
}

// An MTU that was asked for and is not had is worth a warning.
void note_mtu(const config::Rail& config, std::uint32_t found) {
  if (found >= effective_mtu(config)) {
    return;
  }
  if (config.mtu == 0) {
    TF_INFO("NET/tfabric: rail {}: {} takes packets of at most {} bytes: its mtu is that", config.name,
            config.device, found);
  } else {
    TF_WARN("NET/tfabric: rail {}: mtu is {}, and {} takes packets of at most {} bytes: it is used with that",
            config.name, config.mtu, config.device, found);
  }
}

}  // namespace

NicRail::NicRail(const config::Rail& config, link::Link* network, link::Link* loop,
                 std::unique_ptr<Rail> local)
    : Rail(config),
      address_(network->interface().config().addresses.front().address),
      network_(network),
      loop_(loop),
      local_(std::move(local)) {}

// What the ends of the rail in all engines have in common.
struct NicRail::Common {
  const config::Rail& config;
  std::span<link::Tcp* const> engines;
  bool announce;
  net::InterfaceConfig interface;
  std::shared_ptr<engine::Rehearsal> rehearsal;
  // Null if there is one engine. A process talks to itself over loops, one for each engine; what is for
  // another engine is handed over like a packet that came in by a wrong queue.
  std::shared_ptr<link::Exchange> network_exchange, loop_exchange;
};

OpenedRail NicRail::open(const config::Rail& config, std::span<link::Tcp* const> engines,
                         const link::PortMap& ports, bool announce) {
  const Result<std::vector<net::Prefix>> addresses = addresses_of(config);
  if (!addresses) {
    return addresses.error();
  }
  auto opened = open_ports(config, *addresses, engines.size(), ports);
  if (!opened) {
    return opened.error();
  }
  const nic::Port& first = *opened->front();
  note_mtu(config, first.mtu());
  const auto make_exchange = [&] {
    return engines.size() > 1 ? std::make_shared<link::Exchange>(ports) : nullptr;
  };
  const Common common{
      .config = config,
      .engines = engines,
      .announce = announce,
      .interface = interface_of(config, *addresses,
                                traits_of(config.kind).has_own_mac ? first.mac() : random_mac(), first.mtu()),
      .rehearsal = make_rehearsal(config),
      .network_exchange = make_exchange(),
      .loop_exchange = make_exchange()};
  std::vector<std::unique_ptr<Rail>> rails;
  for (std::size_t e = 0; e < engines.size(); ++e) {
    Result<std::unique_ptr<Rail>> rail =
        open_end(common, static_cast<std::uint16_t>(e), std::move((*opened)[e]));
    if (!rail) {
      return rail.error();
    }
    rails.push_back(std::move(*rail));
  }
  return rails;
}

Result<std::unique_ptr<Rail>> NicRail::open_end(const Common& common, std::uint16_t number,
                                                std::unique_ptr<nic::Port> port) {
  const config::Rail& config = common.config;
  link::Tcp& tcp = *common.engines[number];
  Result<std::unique_ptr<link::Link>> loop = make_loop_link(
      config.name, common.interface, {.exchange = common.loop_exchange, .self = number}, port->rx_pool());
  if (!loop) {
    return loop.error();
  }
  net::InterfaceConfig outward = common.interface;
  std::unique_ptr<Rail> local;
  if (config::has_queue_subset(config)) {
    Result<std::unique_ptr<Rail>> memif = LocalRail::open(local_rail_of(config), tcp, common.engines.size());
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
  auto network = std::make_unique<link::Link>(
      std::move(port), std::move(outward),
      link_options(config, traits_of(config.kind).transmit_access,
                   make_receive_share(config, common.engines.size()), common.rehearsal),
      link::ExchangeMember{
          .exchange = common.network_exchange, .self = number, .hashed = common.engines.size() > 1});
  std::unique_ptr<Rail> rail(new NicRail(config, network.get(), loop->get(), std::move(local)));
  const engine::Guard guard(tcp.engine().lock());
  tcp.add_link(std::move(network), common.announce);
  tcp.add_link(std::move(*loop));
  return rail;
}

std::uint32_t NicRail::mtu() const { return network_->interface().config().mtu; }
bool NicRail::sends_by_dma() const { return network_->options().mapped_only; }

Result<Way> NicRail::way_to(const net::IpAddress& peer, std::uint64_t peer_process) {
  const bool on_this_host = network_->interface().owns(peer);
  if (on_this_host && local_ != nullptr && peer_process != local_->process()) {
    return local_->way_to(peer, peer_process);
  }
  const net::InterfaceConfig& own = network_->interface().config();
  if (!on_this_host && !own.point_to_point && !network_->interface().next_hop(peer)) {
    return Error{Errc::unusable,
                 fmt::format("rail {}: {} {} ({}), which has no gateway: set `{}` for the rail, or the right "
                             "prefix length",
                             config().name, net::to_string(peer), kInNoNetwork,
                             fmt::join(config().addresses, ", "), peer.is_v4() ? "gateway" : "gateway6")};
  }
  return Way{.carrier = on_this_host ? loop_ : network_, .remote = peer};
}

}  // namespace tfabric::rails
