// Packets that arrive in several buffers: a super-segment that a hypervisor or a peer on this host has not
// cut, or one that the driver has assembled (large receive offload, mergeable buffers). It is not copied:
// each buffer becomes a segment of its own for the machine, which keeps buffers one by one. What belongs to
// the whole segment, its SACK blocks and its end, goes with the first or the last of them.
#include <rte_mbuf.h>

#include <algorithm>
#include <array>

#include "transport/tcp/link/tcp.h"

namespace tfabric::link {
namespace {

// 64 KiB in buffers of 2 KiB, and half as many again. A packet with more is dropped.
constexpr std::size_t kMaxBuffers = 48;

struct Chain {
  std::array<rte_mbuf*, kMaxBuffers> buffers;
  std::array<std::span<const std::byte>, kMaxBuffers> pieces;
  std::size_t count = 0;

  // Takes the packet apart. Returns false, with the packet unchanged, if it has too many buffers.
  bool take(rte_mbuf* head) {
    if (head->nb_segs > kMaxBuffers) {
      return false;
    }
    for (rte_mbuf* buffer = head; buffer != nullptr;) {
      rte_mbuf* next = buffer->next;
      buffer->next = nullptr;
      buffer->nb_segs = 1;
      buffer->pkt_len = buffer->data_len;
      pieces[count] = {rte_pktmbuf_mtod(buffer, const std::byte*), buffer->data_len};
      buffers[count++] = buffer;
      buffer = next;
    }
    return true;
  }
  // Buffer `i` now belongs to a flow.
  void give_away(std::size_t i) { buffers[i] = nullptr; }
  void free() { rte_pktmbuf_free_bulk(buffers.data(), static_cast<unsigned>(count)); }
};

// Makes the segment the next one, whose payload is `piece`, with at most `most` bytes.
void move_on(stack::SegmentIn& segment, std::span<const std::byte> piece, std::size_t most) {
  segment.seq = segment.seq + segment.payload.size;
  segment.payload.data = piece.data();
  segment.payload.size = static_cast<std::uint32_t>(std::min(piece.size(), most));
}

}  // namespace

void Tcp::on_chain(Link& link, rte_mbuf* head) {
  Chain chain;
  if (!chain.take(head)) {
    rte_pktmbuf_free(head);
    return;
  }
  net::RxMeta meta = meta_of(link, *head);
  meta.rest = std::span(chain.pieces).subspan(1, chain.count - 1);
  const net::InputResult result = link.interface().input(chain.pieces[0], meta, now_);
  std::optional<stack::SegmentIn> segment;
  if (result.kind == net::InputResult::Kind::tcp) {
    segment = stack::parse_segment(result.tcp.bytes);
  }
  constexpr std::uint8_t kNotData = stack::flag::syn | stack::flag::rst;
  TcpFlow* flow = nullptr;
  if (segment && (segment->flags & kNotData) == 0) {
    segment->congestion_experienced = result.tcp.congestion_experienced;
    flow = flow_for(link, result.tcp, *segment);
  }
  if (flow == nullptr) {
    chain.free();
    return;
  }
  const std::uint8_t flags = segment->flags;
  std::size_t left = result.tcp.more;
  bool first = true;
  for (std::size_t i = 0; !flow->connection_->finished(); ++i) {
    if (i > 0) {
      move_on(*segment, chain.pieces[i], left);
      left -= segment->payload.size;
    }
    // Headers in a buffer of their own go with the first bytes: without any they would be taken for a
    // duplicate ACK.
    if (segment->payload.size > 0 || left == 0) {
      segment->payload.owner = chain.buffers[i];
      segment->flags = stack::flags_of_part(flags, first, /*last=*/left == 0);
      if (hand(*flow, *segment)) {
        chain.give_away(i);
      }
      first = false;
      segment->sack_count = 0;
    }
    if (left == 0) {
      break;
    }
  }
  chain.free();
}

}  // namespace tfabric::link
