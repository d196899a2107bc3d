#include "transport/tcp/nic/offloads.h"

#include <algorithm>
#include <string_view>

#include "transport/tcp/nic/device_arguments.h"

namespace tfabric::nic {
namespace {

// Drivers that state no limit of buffers a packet take at least this many: virtio's vhost gathers up to 256,
// of a ring of 256 descriptors at least.
constexpr std::uint16_t kUnstatedSegments = 32;
constexpr std::uint16_t kUnstatedTsoSegments = 40;

bool is_virtual(const std::string& device) { return device.starts_with("net_"); }

// Hypervisors hand over segments that their sender has never cut. NICs that put them together again would
// hide the timing of the network from the TCP machine, which has batches of its own.
bool wants_lro(std::string_view driver) {
  return driver.starts_with("net_virtio") || driver == "net_vmxnet3";
}

}  // namespace

rte_eth_conf choose_offloads(const std::string& device, const rte_eth_dev_info& info, std::uint16_t mtu) {
  rte_eth_conf conf{};
  conf.txmode.offloads = info.tx_offload_capa & RTE_ETH_TX_OFFLOAD_MULTI_SEGS;
  if (is_virtual(device) && !is_vhost_wire(device)) {
    return conf;
  }
  conf.rxmode.mtu = info.max_mtu == 0 ? mtu : std::min(mtu, info.max_mtu);
  constexpr std::uint64_t kTxChecksums = RTE_ETH_TX_OFFLOAD_IPV4_CKSUM | RTE_ETH_TX_OFFLOAD_TCP_CKSUM;
  conf.txmode.offloads |= info.tx_offload_capa & kTxChecksums;
  constexpr std::uint64_t kSegmentation =
      RTE_ETH_TX_OFFLOAD_TCP_TSO | RTE_ETH_TX_OFFLOAD_TCP_CKSUM | RTE_ETH_TX_OFFLOAD_MULTI_SEGS;
  if ((info.tx_offload_capa & kSegmentation) == kSegmentation) {
    conf.txmode.offloads |= RTE_ETH_TX_OFFLOAD_TCP_TSO;
  }
  conf.rxmode.offloads |=
      info.rx_offload_capa & (RTE_ETH_RX_OFFLOAD_IPV4_CKSUM | RTE_ETH_RX_OFFLOAD_TCP_CKSUM);
  constexpr std::uint64_t kCoalescing =
      RTE_ETH_RX_OFFLOAD_TCP_LRO | RTE_ETH_RX_OFFLOAD_TCP_CKSUM | RTE_ETH_RX_OFFLOAD_SCATTER;
  if (wants_lro(info.driver_name) && (info.rx_offload_capa & kCoalescing) == kCoalescing) {
    conf.rxmode.offloads |= RTE_ETH_RX_OFFLOAD_TCP_LRO | RTE_ETH_RX_OFFLOAD_SCATTER;
    // 0, a driver that states none: DPDK would refuse any other value.
    conf.rxmode.max_lro_pkt_size = std::min<std::uint32_t>(info.max_lro_pkt_size, 65535);
  }
  return conf;
}

PortCapabilities capabilities_of(const std::string& device, const rte_eth_conf& conf,
                                 const rte_eth_dev_info& info) {
  const bool chains = (conf.txmode.offloads & RTE_ETH_TX_OFFLOAD_MULTI_SEGS) != 0;
  const auto stated = [](std::uint16_t limit, std::uint16_t otherwise) {
    return limit != 0 ? limit : otherwise;
  };
  // The other virtual devices copy buffer by buffer.
  const std::uint16_t unstated =
      is_virtual(device) && !is_vhost_wire(device) ? PortCapabilities::kAnySegments : kUnstatedSegments;
  return {.tx_ip_checksum = (conf.txmode.offloads & RTE_ETH_TX_OFFLOAD_IPV4_CKSUM) != 0,
          .tx_tcp_checksum = (conf.txmode.offloads & RTE_ETH_TX_OFFLOAD_TCP_CKSUM) != 0,
          .tx_segmentation = (conf.txmode.offloads & RTE_ETH_TX_OFFLOAD_TCP_TSO) != 0,
          .rx_checksum = (conf.rxmode.offloads & RTE_ETH_RX_OFFLOAD_TCP_CKSUM) != 0,
          .tx_multi_segment = chains,
          .tx_segments_max = chains ? stated(info.tx_desc_lim.nb_mtu_seg_max, unstated) : std::uint16_t{1},
          .tx_tso_segments_max =
              chains ? stated(info.tx_desc_lim.nb_seg_max, kUnstatedTsoSegments) : std::uint16_t{1}};
}

}  // namespace tfabric::nic
