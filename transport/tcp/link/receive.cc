// Packets that arrive: from the driver to the machines.
#include <rte_mbuf.h>
#include <rte_prefetch.h>

#include <algorithm>
#include <array>

#include "transport/tcp/link/recording.h"
#include "transport/tcp/link/tcp.h"

namespace tfabric::link {
namespace {

// The interval at which a flow believes errors that report a smaller MTU of the path (RFC 1191 §6.3: rarely
// needed).
constexpr std::uint32_t kMtuInterval = 1000;  // ms

}  // namespace

bool Tcp::receive_from(Link& link) {
  std::array<rte_mbuf*, kBurst> packets;
  const std::uint16_t count = link.receive(packets, counters_.exchange);
  on_burst(link, std::span(packets).first(count));
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

void Tcp::on_burst(Link& link, std::span<rte_mbuf*> packets) {
  std::size_t done = 0;
  for (std::size_t i = 0; i < packets.size(); ++i) {
    if (i + 1 < packets.size()) {
      rte_prefetch0(rte_pktmbuf_mtod(packets[i + 1], void*));
    }
    if (!on_packet(link, packets[i])) {
      packets[done++] = packets[i];
    }
  }
  rte_pktmbuf_free_bulk(packets.data(), static_cast<unsigned>(done));
}

bool Tcp::on_packet(Link& link, rte_mbuf* packet) {
  if (packet->nb_segs > 1 && rte_pktmbuf_linearize(packet) != 0) {
    on_chain(link, packet);
    return true;
  }
  const std::span<const std::byte> frame(rte_pktmbuf_mtod(packet, const std::byte*), packet->data_len);
  const net::RxMeta meta = meta_of(link, *packet);
  const KnownFlows::Known* const known = known_.find(frame);
  if (known != nullptr && is_plain(link, *known->flow)) {
    if (const auto segment = link.interface().input_known(known->pattern, frame, meta)) {
      return on_known(*known->flow, *segment, packet);
    }
  }
  const net::InputResult result = link.interface().input(frame, meta, now_);
  if (result.kind == net::InputResult::Kind::tcp) {
    return on_tcp(link, result.tcp, packet);
  }
  if (result.kind == net::InputResult::Kind::icmp_error) {
    on_icmp(result.icmp);
  }
  return false;
}

// Returns true if a segment of the flow that comes in by the link is for nothing but its connection.
bool Tcp::is_plain(const Link& link, const TcpFlow& flow) {
  return &flow.link() == &link && !flow.time_wait_ && flow.trial_ == nullptr && !flow.connection_->finished();
}

bool Tcp::on_known(TcpFlow& flow, const net::KnownSegment& known, rte_mbuf* packet) {
  std::optional<stack::SegmentIn> segment = stack::parse_segment(known.bytes);
  if (!segment) {
    return false;
  }
  ++counters_.segments;
  segment->congestion_experienced = known.congestion_experienced;
  segment->payload.owner = packet;
  return hand(flow, *segment);
}

net::RxMeta Tcp::meta_of(const Link& link, const rte_mbuf& packet) const {
  net::RxMeta meta = link.meta_of(packet);
  meta.overheard = arrival_ == Arrival::news;
  return meta;
}

bool Tcp::on_tcp(Link& link, const net::TcpPacket& tcp, rte_mbuf* packet) {
  std::optional<stack::SegmentIn> segment = stack::parse_segment(tcp.bytes);
  if (!segment) {
    return false;
  }
  segment->congestion_experienced = tcp.congestion_experienced;
  segment->payload.owner = packet;
  if ((segment->flags & stack::flag::syn) != 0) {
    engine_->note_work();
  }
  TcpFlow* flow = flow_for(link, tcp, *segment);
  if (flow == nullptr) {
    return false;
  }
  known_.learn(*flow, {rte_pktmbuf_mtod(packet, const std::byte*), packet->data_len});
  return hand(*flow, *segment);
}

TcpFlow* Tcp::flow_for(Link& link, const net::TcpPacket& tcp, const stack::SegmentIn& segment) {
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

bool Tcp::hand(TcpFlow& flow, const stack::SegmentIn& segment) {
  if (flow.recorder_.exists()) {
    record(flow.recorder_, recorder_page_, segment, now_);
  }
  if (segment.payload.size > 0 || (segment.flags & stack::flag::fin) != 0) {
    engine_->note_work();
  }
  flow.connection_->on_segment(segment, now_);
  deliver(flow);
  const bool kept = flow.connection_->settle();
  mark(flow);
  return kept;
}

void Tcp::on_icmp(const net::IcmpError& error) {
  TcpFlow* flow = table_.find(table_key({error.local, error.remote, {error.local_port, error.remote_port}}));
  if (flow == nullptr) {
    return;
  }
  // RFC 5927 §4.1: an error about bytes that are not in flight is forged or stale.
  const stack::ConnectionInfo info = flow->connection_->info();
  const Seq quoted(error.sequence);
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
    if (mss >= info.mss || stack::timestamp(now_) - flow->mtu_told_ < kMtuInterval) {
      return;
    }
    flow->mtu_told_ = stack::timestamp(now_);
    flow->connection_->set_path_mss(static_cast<std::uint16_t>(std::min(mss, 65535u)), now_);
  } else if (info.state == stack::State::syn_sent) {
    // RFC 5927 §5.2: hard errors end only connections that are not synchronised.
    flow->connection_->fail(stack::ConnectionError::unreachable);
  }
  mark(*flow);
}

void Tcp::deliver(TcpFlow& flow) {
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

}  // namespace tfabric::link
