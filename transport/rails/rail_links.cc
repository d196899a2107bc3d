#include "transport/rails/rail_links.h"

#include "transport/rails/memory_need.h"
#include "transport/tcp/nic/device_arguments.h"

namespace tfabric::rails {

std::shared_ptr<stack::ReceiveShare> make_receive_share(const config::Rail& config, std::size_t engines) {
  return std::make_shared<stack::ReceiveShare>(
      stack::ReceiveShareOptions{.under_way = config.receive_window / engines,
                                 .held = config.receive_memory / engines,
                                 .least = 2 * effective_mtu(config)});
}

link::LinkOptions link_options(const config::Rail& config, TransmitAccess access,
                               std::shared_ptr<stack::ReceiveShare> share,
                               std::shared_ptr<engine::Rehearsal> rehearsal) {
  link::LinkOptions options{.transmit_by_reference = access != TransmitAccess::shared,
                            .mapped_only = access == TransmitAccess::dma,
                            .segmentation = config.tso,
                            .ends_with_link = traits_of(config.kind).ends_with_link,
                            .ecn = config.ecn,
                            .pacing = config.pacing,
                            .receive_share = std::move(share),
                            .rehearsal = std::move(rehearsal)};
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

std::shared_ptr<engine::Rehearsal> make_rehearsal(const config::Rail& config) {
  return config.faults.empty() && !config.may_fail
             ? nullptr
             : std::make_shared<engine::Rehearsal>(config.name, config.faults, monotonic_now());
}

Result<std::unique_ptr<link::Link>> make_loop_link(const std::string& name,
                                                   const net::InterfaceConfig& interface,
                                                   link::ExchangeMember member,
                                                   std::shared_ptr<rte_mempool> pool) {
  // Packets do not travel by reference, or the receiver would keep the sender's memory.
  Result<std::unique_ptr<nic::Port>> port = nic::Port::open({.name = name + "-loop",
                                                             .device = nic::kLoopDevice,
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
  return std::make_unique<link::Link>(std::move(*port), std::move(config), link::LinkOptions{},
                                      std::move(member));
}

}  // namespace tfabric::rails
