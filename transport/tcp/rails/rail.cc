#include "transport/tcp/rails/rail.h"

#include <algorithm>

#include "host/interfaces.h"
#include "transport/tcp/nic/device_arguments.h"
#include "transport/tcp/rails/memif_rail.h"
#include "transport/tcp/rails/nic_rail.h"

namespace tfabric::tcp {
namespace {

constexpr std::uint32_t kNicMtu = 1500;
constexpr std::uint32_t kPciMtu = 9000;
// Bytes of packet buffers a receive pool may hold, and how many buffers at least and at most.
constexpr std::uint32_t kPoolBytes = 64u << 20;
constexpr std::uint32_t kMinBuffers = 2048;
constexpr std::uint32_t kMaxBuffers = 16384;
// Of the kernel's interfaces, by the drivers' own limits.
constexpr std::uint16_t kMostQueues = 16;

}  // namespace

std::uint32_t effective_mtu(const config::Rail& config) {
  if (config.mtu != 0) {
    return config.mtu;
  }
  switch (config.kind) {
    case config::RailKind::memif:
      return nic::kMemifMtu;
    case config::RailKind::pci:
      return kPciMtu;
    case config::RailKind::af_packet:
    case config::RailKind::af_xdp:
      if (const std::uint32_t mtu = host::InterfaceQuery().mtu(config.device); mtu != 0) {
        return mtu;
      }
      return kNicMtu;
    case config::RailKind::tap:
    case config::RailKind::virtio_user:
    case config::RailKind::vhost:
      return kNicMtu;
  }
  return kNicMtu;
}

std::uint32_t receive_buffers(std::uint32_t mtu) {
  return std::clamp(kPoolBytes / (mtu + 256), kMinBuffers, kMaxBuffers);
}

std::string device_arguments(const config::Rail& config, std::uint32_t mtu, std::uint16_t queues) {
  switch (config.kind) {
    case config::RailKind::pci:
      return config.device;
    case config::RailKind::af_packet:
      return nic::af_packet_arguments(config.device, mtu, queues);
    case config::RailKind::af_xdp:
      return nic::af_xdp_arguments(config.device, config.queues.first, queues);
    case config::RailKind::tap:
      return nic::tap_arguments(config.device);
    case config::RailKind::virtio_user:
      return nic::virtio_user_arguments(config.device);
    case config::RailKind::vhost:
      return nic::vhost_arguments(config.device);
    case config::RailKind::memif:
      return nic::memif_arguments(
          {.socket = config.device, .server = config.role == config::MemifRole::server, .mtu = mtu});
  }
  return {};
}

std::shared_ptr<stack::ReceiveShare> make_receive_share(const config::Rail& config, std::size_t engines) {
  return std::make_shared<stack::ReceiveShare>(
      stack::ReceiveShareOptions{.under_way = config.receive_window / engines,
                                 .held = config.receive_memory / engines,
                                 .least = 2 * effective_mtu(config)});
}

engine::LinkOptions link_options(const config::Rail& config, TransmitAccess access,
                                 std::shared_ptr<stack::ReceiveShare> share) {
  engine::LinkOptions options{.transmit_by_reference = access != TransmitAccess::shared,
                              .mapped_only = access == TransmitAccess::dma,
                              .segmentation = config.tso,
                              .ecn = config.ecn,
                              .pacing = config.pacing,
                              .receive_share = std::move(share)};
  switch (config.congestion_control) {
    case config::CongestionControl::cubic:
      options.congestion = stack::CongestionAlgorithm::cubic;
      break;
    case config::CongestionControl::dctcp:
      options.congestion = stack::CongestionAlgorithm::dctcp;
      options.ecn = true;
      break;
    case config::CongestionControl::bottleneck:
      options.congestion = stack::CongestionAlgorithm::bottleneck;
      break;
  }
  return options;
}

Result<std::unique_ptr<engine::Link>> make_loop_link(const std::string& name,
                                                     const net::InterfaceConfig& interface,
                                                     engine::ExchangeMember member,
                                                     std::shared_ptr<rte_mempool> pool) {
  // A ring whose two ends are one port; packets must not travel by reference, or the receiver would keep
  // the sender's memory.
  Result<std::unique_ptr<nic::Port>> port = nic::Port::open({.name = name + "-loop",
                                                             .device = nic::ring_arguments(),
                                                             .mtu = static_cast<std::uint16_t>(interface.mtu),
                                                             .rx_buffers = receive_buffers(interface.mtu),
                                                             .rx_pool = std::move(pool)});
  if (!port) {
    return port.error();
  }
  net::InterfaceConfig config = interface;
  config.name = name + "-loop";
  config.point_to_point = true;
  config.trusted_wire = true;
  return std::make_unique<engine::Link>(std::move(*port), std::move(config), engine::LinkOptions{},
                                        std::move(member));
}

Result<std::uint16_t> queues_of(const config::Rail& config) {
  switch (config.kind) {
    case config::RailKind::pci:
      return nic::Port::queues_of({.name = config.name, .device = config.device});
    case config::RailKind::memif:
      // A wire for each pair of engines; but one that is given is one.
      return config::is_automatic_memif(config) ? kMostQueues : std::uint16_t{1};
    case config::RailKind::virtio_user:
    case config::RailKind::vhost:
      return std::uint16_t{1};
    case config::RailKind::af_xdp:
      if (!config.queues.whole()) {
        return config.queues.count;
      }
      return static_cast<std::uint16_t>(
          std::clamp(host::channels_of(config.device).combined, 1u, std::uint32_t{kMostQueues}));
    case config::RailKind::af_packet:
    case config::RailKind::tap:
      break;
  }
  return kMostQueues;
}

Result<std::vector<std::unique_ptr<Rail>>> open_rail(const config::Rail& config,
                                                     std::span<engine::Engine* const> engines,
                                                     const engine::PortMap& ports, bool announce) {
  if (!config::is_automatic_memif(config)) {
    return NicRail::open(config, engines, ports, announce);
  }
  std::vector<std::unique_ptr<Rail>> rails;
  for (engine::Engine* engine : engines) {
    Result<std::unique_ptr<Rail>> rail = MemifRail::open(config, *engine, engines.size());
    if (!rail) {
      return rail.error();
    }
    rails.push_back(std::move(*rail));
  }
  return rails;
}

}  // namespace tfabric::tcp
