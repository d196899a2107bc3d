#include "transport/tcp/nic/offloads.h"

#include <algorithm>
#include <cstring>
#include <string_view>

#include "transport/tcp/nic/device_arguments.h"

namespace tfabric::nic {
namespace {

// Drivers that state no limit take at least this many buffers for a packet: vhost gathers up to 256, from a
// ring of at least 256 descriptors.
constexpr std::uint16_t kUnstatedSegments = 32;
constexpr std::uint16_t kUnstatedTsoSegments = 40;

bool is_virtual(const std::string& device) { return device.starts_with("net_"); }

// Hypervisors hand over segments that their sender never cut. A NIC that joined received segments would hide
// the network's timing from the TCP machine, which has batches of its own.
bool wants_lro(std::string_view driver) { return is_virtio(driver) || driver == "net_vmxnet3"; }

}  // namespace

bool is_virtio(std::string_view driver) { return driver.starts_with("net_virtio"); }

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
    // 0 if the driver states none: DPDK would refuse any other value.
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
  // The other virtual devices copy each buffer, so any number will do.
  const std::uint16_t unstated =
      is_virtual(device) && !is_vhost_wire(device) ? PortCapabilities::kAnySegments : kUnstatedSegments;
  return {.tx_ip_checksum = (conf.txmode.offloads & RTE_ETH_TX_OFFLOAD_IPV4_CKSUM) != 0,
          .tx_tcp_checksum = (conf.txmode.offloads & RTE_ETH_TX_OFFLOAD_TCP_CKSUM) != 0,
          .tx_segmentation = (conf.txmode.offloads & RTE_ETH_TX_OFFLOAD_TCP_TSO) != 0,
          .rx_checksum = (conf.rxmode.offloads & RTE_ETH_RX_OFFLOAD_TCP_CKSUM) != 0,
          .tx_multi_segment = chains,
          .tx_segments_max = chains ? stated(info.tx_desc_lim.nb_mtu_seg_max, unstated) : std::uint16_t{1},
          .tx_tso_segments_max =
              chains ? stated(info.tx_desc_lim.nb_seg_max, kUnstatedTsoSegments) : std::uint16_t{1},
          .tso_sum_has_length = is_vhost_wire(device) || is_virtio(info.driver_name)};
}

rte_mbuf* linearised_copy(const rte_mbuf& packet, rte_mempool* pool) {
  rte_mbuf* copy = rte_pktmbuf_alloc(pool);
  if (copy == nullptr || rte_pktmbuf_tailroom(copy) < packet.pkt_len) {
    rte_pktmbuf_free(copy);
    return nullptr;
  }
  auto* out = rte_pktmbuf_mtod(copy, char*);
  for (const rte_mbuf* piece = &packet; piece != nullptr; piece = piece->next) {
    std::memcpy(out, rte_pktmbuf_mtod(piece, const char*), piece->data_len);
    out += piece->data_len;
  }
  copy->data_len = static_cast<std::uint16_t>(packet.pkt_len);
  copy->pkt_len = packet.pkt_len;
  copy->ol_flags |= packet.ol_flags & RTE_MBUF_F_TX_OFFLOAD_MASK;
  copy->tx_offload = packet.tx_offload;
  return copy;
}

}  // namespace tfabric::nic
