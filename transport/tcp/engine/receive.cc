// Packets that arrive: from the driver to the machines.
//
// A packet may be a chain of several buffers: a super-segment that a hypervisor or a peer on this host has
// not cut, or one that the driver has assembled (large receive offload, mergeable buffers). It is not copied:
// each buffer becomes a segment of its own for the machine, which keeps buffers one by one. What belongs to
// the whole segment, its SACK blocks and its end, goes with the first or the last of them.
#include <rte_mbuf.h>
#include <rte_prefetch.h>

#include <algorithm>
#include <array>

#include "transport/tcp/engine/engine.h"

namespace tfabric::engine {
namespace {

// The interval at which a flow believes errors that report a smaller MTU of the path (RFC 1191 §6.3: rarely
// needed).
constexpr Duration kMtuInterval = std::chrono::seconds(1);

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

// The flags that only the last segment of the whole carries, and those that only the first carries.
constexpr std::uint8_t kAtTheEnd = stack::flag::fin | stack::flag::psh;
constexpr std::uint8_t kAtTheStart = stack::flag::cwr;

std::uint8_t flags_of_part(std::uint8_t whole, bool first, bool last) {
  return static_cast<std::uint8_t>(whole & ~(last ? 0u : kAtTheEnd) & ~(first ? 0u : kAtTheStart));
}

// Makes the segment the next one, whose payload is `piece`, with at most `most` bytes.
void move_on(stack::SegmentIn& segment, std::span<const std::byte> piece, std::size_t most) {
  segment.seq = segment.seq + segment.payload.size;
  segment.payload.data = piece.data();
  segment.payload.size = static_cast<std::uint32_t>(std::min(piece.size(), most));
}

}  // namespace

bool Engine::receive(Link& link) {
  std::array<rte_mbuf*, kBurst> packets;
  const std::uint16_t count = link.receive(packets, counters_.exchange);
  for (std::uint16_t i = 0; i < count; ++i) {
    if (i + 1 < count) {
      rte_prefetch0(rte_pktmbuf_mtod(packets[i + 1], void*));
    }
    on_packet(link, packets[i]);
  }
  bool more = false;
  if (link.member().exchange != nullptr) {
    more = receive_from_others(link);
  }
  while (link.has_room()) {
    auto frame = link.interface().next_frame();
    if (!frame) {
      break;
    }
    link.send_frame(*frame);
  }
  return count > 0 || more;
}

void Engine::on_packet(Link& link, rte_mbuf* packet) {
  if (packet->nb_segs > 1 && rte_pktmbuf_linearize(packet) != 0) {
    on_chain(link, packet);
    return;
  }
  bool kept = false;
  const std::span<const std::byte> frame(rte_pktmbuf_mtod(packet, const std::byte*), packet->data_len);
  const net::InputResult result = link.interface().input(frame, meta_of(link, *packet), now_);
  if (result.kind == net::InputResult::Kind::tcp) {
    kept = on_tcp(link, result.tcp, packet);
  } else if (result.kind == net::InputResult::Kind::icmp_error) {
    on_icmp(result.icmp);
  }
  if (!kept) {
    rte_pktmbuf_free(packet);
  }
}

net::RxMeta Engine::meta_of(const Link& link, const rte_mbuf& packet) const {
  net::RxMeta meta = link.meta_of(packet);
  meta.overheard = arrival_ == Arrival::news;
  return meta;
}

// Returns true if the packet now belongs to a flow.
bool Engine::on_tcp(Link& link, const net::TcpPacket& tcp, rte_mbuf* packet) {
  std::optional<stack::SegmentIn> segment = stack::parse_segment(tcp.bytes);
  if (!segment) {
    return false;
  }
  segment->congestion_experienced = tcp.congestion_experienced;
  segment->payload.owner = packet;
  TcpFlow* flow = flow_for(link, tcp, *segment);
  return flow != nullptr && hand(*flow, *segment);
}

TcpFlow* Engine::flow_for(Link& link, const net::TcpPacket& tcp, const stack::SegmentIn& segment) {
  ++counters_.segments;
  const FlowKey key{tcp.destination, tcp.source, {segment.destination_port, segment.source_port}};
  TcpFlow* flow = table_.find(table_key(key));
  if (flow == nullptr) {
    flow = on_unknown(link, tcp, key, segment);
    if (flow == nullptr) {
      return nullptr;
    }
  }
  if (&flow->link() != &link) {
    // A packet with our ports from another wire: no flow changes its wire.
    return nullptr;
  }
  if (flow->time_wait_ && reincarnate(*flow, tcp, segment)) {
    return nullptr;
  }
  if (flow->trial_ != nullptr && try_another_port(*flow, tcp, segment)) {
    return nullptr;
  }
  if (flow->connection_->finished()) {
    // Its handler still refers to it; for the peer it no longer exists.
    answer_with_reset(link, tcp, segment);
    return nullptr;
  }
  return flow;
}

bool Engine::hand(TcpFlow& flow, const stack::SegmentIn& segment) {
  flow.connection_->on_segment(segment, now_);
  deliver(flow);
  const bool kept = flow.connection_->settle();
  mark(flow);
  return kept;
}

void Engine::on_icmp(const net::IcmpError& error) {
  TcpFlow* flow = table_.find(table_key({error.local, error.remote, {error.local_port, error.remote_port}}));
  if (flow == nullptr) {
    return;
  }
  // RFC 5927 §4.1: an error about bytes that are not in flight is forged or stale.
  const stack::ConnectionInfo info = flow->connection_->info();
  const stack::Seq quoted(error.sequence);
  if (quoted < info.snd_una || quoted >= info.snd_nxt) {
    return;
  }
  if (error.kind == net::IcmpError::Kind::packet_too_big) {
    const std::uint32_t headers = (error.local.is_v4() ? 20u : 40u) + stack::kTcpHeaderBytes;
    // RFC 9293 §3.7.1, and RFC 8201 §4: no path that carries IPv6 has less.
    const std::uint32_t least = error.local.is_v4() ? 536 : 1280 - headers;
    const std::uint32_t mss = error.mtu > headers + least ? error.mtu - headers : least;
    // Each error costs the retransmission of all bytes in flight: an attacker who sees the packets could
    // cause it without end.
    if (mss >= info.mss || now_ - flow->mtu_told_ < kMtuInterval) {
      return;
    }
    flow->mtu_told_ = now_;
    flow->connection_->set_path_mss(static_cast<std::uint16_t>(std::min(mss, 65535u)), now_);
  } else if (info.state == stack::State::syn_sent) {
    // RFC 5927 §5.2: hard errors end only connections that are not synchronised.
    flow->connection_->fail(stack::ConnectionError::unreachable);
  }
  mark(*flow);
}

void Engine::deliver(TcpFlow& flow) {
  stack::Connection& connection = *flow.connection_;
  for (;;) {
    const std::span<const std::byte> bytes = connection.readable();
    if (bytes.empty()) {
      return;
    }
    if (flow.handler_ == nullptr) {
      // RFC 9293 §3.6: data for a user that has closed is answered by a reset; otherwise the peer would wait.
      connection.abort();
      return;
    }
    const std::size_t taken = flow.handler_->on_data(flow, bytes);
    // If the bytes are wrong, the handler aborts the flow, and nothing is left to consume. After any other
    // error they are, and on_failed() must not find them again.
    if (taken == 0 || connection.error() == stack::ConnectionError::aborted) {
      return;
    }
    connection.consume(static_cast<std::uint32_t>(taken));
  }
}

void Engine::on_chain(Link& link, rte_mbuf* head) {
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
      segment->flags = flags_of_part(flags, first, /*last=*/left == 0);
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

}  // namespace tfabric::engine
