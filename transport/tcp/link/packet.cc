#include <rte_mbuf.h>

#include <algorithm>
#include <cstring>
#include <span>

#include "transport/tcp/link/link.h"
#include "transport/tcp/nic/pools.h"

namespace tfabric::link {
namespace {

// Payload up to this size is copied after the headers, which costs less than a second buffer.
constexpr std::uint32_t kCopyLimit = 256;

// A packet under construction: a chain whose first buffer holds the headers.
class Chain {
 public:
  Chain(nic::Port& port, rte_mbuf* head) : port_(&port), head_(head), tail_(head) {}

  bool copy(const stack::Payload& piece) {
    for (std::uint32_t done = 0; done < piece.size;) {
      if (tail_external_ || rte_pktmbuf_tailroom(tail_) == 0) {
        rte_mbuf* next = port_->allocate_payload(piece.size - done);
        if (next == nullptr) {
          return false;
        }
        append(next, /*external=*/false);
      }
      const std::uint32_t n = std::min<std::uint32_t>(piece.size - done, rte_pktmbuf_tailroom(tail_));
      std::memcpy(rte_pktmbuf_mtod_offset(tail_, std::byte*, tail_->data_len), piece.data + done, n);
      tail_->data_len = static_cast<std::uint16_t>(tail_->data_len + n);
      head_->pkt_len += n;
      done += n;
    }
    return true;
  }

  bool attach(const stack::Payload& piece, rte_mbuf_ext_shared_info& references) {
    rte_mbuf* next = port_->allocate_external();
    if (next == nullptr) {
      return false;
    }
    // The driver only reads it; DPDK's interface has no const.
    void* data = const_cast<std::byte*>(piece.data);
    rte_mbuf_ext_refcnt_update(&references, 1);
    rte_pktmbuf_attach_extbuf(next, data, reinterpret_cast<rte_iova_t>(data),
                              static_cast<std::uint16_t>(piece.size), &references);
    next->data_off = 0;
    next->data_len = static_cast<std::uint16_t>(piece.size);
    append(next, /*external=*/true);
    head_->pkt_len += piece.size;
    return true;
  }

 private:
  void append(rte_mbuf* next, bool external) {
    tail_->next = next;
    tail_ = next;
    tail_external_ = external;
    ++head_->nb_segs;
  }

  nic::Port* port_;
  rte_mbuf* head_;
  rte_mbuf* tail_;
  bool tail_external_ = false;
};

void set_offloads(rte_mbuf& packet, const nic::Port& port, const net::LinkHeader& link_header,
                  const stack::SegmentOut& segment) {
  packet.ol_flags |= RTE_MBUF_F_TX_TCP_CKSUM | (link_header.v4 ? RTE_MBUF_F_TX_IPV4 : RTE_MBUF_F_TX_IPV6);
  packet.l2_len = link_header.ip_offset;
  packet.l3_len = link_header.size - link_header.ip_offset;
  packet.l4_len = segment.header_size();
  if (segment.segment_size != 0) {
    packet.ol_flags |= RTE_MBUF_F_TX_TCP_SEG;
    packet.tso_segsz = segment.segment_size;
    // Each packet that it is cut into has a length of its own in its IP header.
    if (link_header.v4 && port.capabilities().tx_ip_checksum) {
      packet.ol_flags |= RTE_MBUF_F_TX_IP_CKSUM;
    }
  }
}

// Returns true if the whole payload can be attached by reference. The limit of buffers holds for the whole
// segment, because some drivers allow no more buffers within an MSS than in a packet (i40e: 8).
bool all_mapped(const nic::Port& port, const stack::SegmentOut& segment) {
  const auto pieces = std::span(segment.pieces).first(segment.piece_count);
  return pieces.size() + 1 <= port.capabilities().tx_segments_max &&
         std::all_of(pieces.begin(), pieces.end(), [](const stack::Payload& piece) {
           return piece.owner != nullptr || piece.size <= kCopyLimit;
         });
}

}  // namespace

rte_mbuf* build_packet(nic::Port& port, const net::LinkHeader& link_header, const stack::SegmentOut& segment,
                       std::uint16_t ip_id, const PacketOptions& options) {
  const std::size_t headers = link_header.size + segment.header_size();
  // What a driver reads with the CPU anyway costs less to copy here than a second buffer does, if it is
  // small.
  const bool by_reference =
      options.references != nullptr &&
      (options.mapped_only ? all_mapped(port, segment) : headers + segment.payload_size > nic::kHeaderRoom);
  rte_mbuf* packet =
      by_reference ? port.allocate_header() : port.allocate_payload(headers + segment.payload_size);
  if (packet == nullptr) {
    return nullptr;
  }
  auto* start = rte_pktmbuf_mtod(packet, std::byte*);
  // All of it, since a size that the compiler knows costs less; TCP's header comes over the rest.
  std::memcpy(start, link_header.bytes.data(), link_header.bytes.size());
  stack::write_header(segment, start + link_header.size);
  packet->data_len = static_cast<std::uint16_t>(headers);
  packet->pkt_len = static_cast<std::uint32_t>(headers);

  net::TcpPayload payload{.size = segment.payload_size};
  Chain chain(port, packet);
  for (const stack::Payload& piece : std::span(segment.pieces).first(segment.piece_count)) {
    if (options.checksum == net::TcpChecksum::software) {
      payload.sum.add({piece.data, piece.size});
    }
    const bool ok = by_reference && piece.size > kCopyLimit ? chain.attach(piece, *options.references)
                                                            : chain.copy(piece);
    if (!ok) {
      rte_pktmbuf_free(packet);
      return nullptr;
    }
  }
  if (options.checksum == net::TcpChecksum::hardware) {
    set_offloads(*packet, port, link_header, segment);
  }
  net::finish_tcp_packet(link_header, {start, headers}, payload, ip_id,
                         segment.segment_size != 0 && !port.capabilities().tso_sum_has_length
                             ? net::TcpChecksum::cut
                             : options.checksum,
                         segment.ecn_capable);
  return packet;
}

}  // namespace tfabric::link
