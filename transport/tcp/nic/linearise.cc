#include "transport/tcp/nic/linearise.h"

#include <cstdint>
#include <cstring>

namespace tfabric::nic {

rte_mbuf* linearised_copy(const rte_mbuf& packet, rte_mempool* pool) {
  rte_mbuf* copy = rte_pktmbuf_alloc(pool);
  if (copy == nullptr || rte_pktmbuf_tailroom(copy) < packet.pkt_len) {
    rte_pktmbuf_free(copy);
    return nullptr;
  }
  auto* out = rte_pktmbuf_mtod(copy, char*);
  for (const rte_mbuf* part = &packet; part != nullptr; part = part->next) {
    std::memcpy(out, rte_pktmbuf_mtod(part, const char*), part->data_len);
    out += part->data_len;
  }
  copy->data_len = static_cast<std::uint16_t>(packet.pkt_len);
  copy->pkt_len = packet.pkt_len;
  copy->ol_flags |= packet.ol_flags & RTE_MBUF_F_TX_OFFLOAD_MASK;
  copy->tx_offload = packet.tx_offload;
  return copy;
}

}  // namespace tfabric::nic
