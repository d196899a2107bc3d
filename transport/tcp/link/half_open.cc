// Segments that belong to no connection, and half-open connections: SYNs, acknowledgements that return a
// cookie, and all others, which are answered by a reset or not at all. Only the remembered handshakes cost
// memory, and their number is bounded.
#include "transport/tcp/link/tcp.h"

namespace tfabric::link {
namespace {

constexpr std::uint8_t kOpening = stack::flag::syn | stack::flag::ack | stack::flag::rst;

}  // namespace

// Returns the flow that the segment has opened by a cookie, and that it has to be handed to; null otherwise.
TcpFlow* Tcp::on_unknown(Link& link, const net::TcpPacket& tcp, const FlowKey& key,
                         const stack::SegmentIn& segment) {
  const std::uint8_t flags = segment.flags & kOpening;
  const bool listening = segment.destination_port == options_.port && engine_->acceptor() != nullptr;
  if (listening && flags == stack::flag::syn) {
    accept(link, tcp, key, segment);
    return nullptr;
  }
  if (listening && flags == stack::flag::ack && now_ < cookies_until_) {
    // A segment without a cookie is not answered: it may have overtaken the one with the cookie, and a reset
    // would end a connection that is about to begin.
    return reopen(link, key, segment);
  }
  ++counters_.no_flow;
  answer_with_reset(link, tcp, segment);
  return nullptr;
}

void Tcp::accept(Link& link, const net::TcpPacket& tcp, const FlowKey& key, const stack::SegmentIn& syn) {
  if (half_open_ >= options_.max_half_open) {
    ++counters_.cookies_sent;
    cookies_until_ = now_ + stack::SynCookies::kLifetime;
    answer(link, tcp,
           cookies_.answer(*link.tcp_options(options_.tcp, key.local.is_v4()), table_key(key), syn, now_));
    return;
  }
  begin_handshake(link, tcp, key, syn, initial_sequence(key));
}

void Tcp::begin_handshake(Link& link, const net::TcpPacket& tcp, const FlowKey& key,
                          const stack::SegmentIn& syn, Seq iss) {
  TcpFlow* flow = introduce(link, key,
                            stack::Connection::accept(link.tcp_options(options_.tcp, key.local.is_v4()),
                                                      payloads_.ops(), syn, iss, now_));
  if (flow == nullptr) {
    return;
  }
  flow->half_open_ = true;
  flow->came_elsewhere_ = arrival_ == Arrival::handed_over && link.member().hashed;
  ++half_open_;
  // Until the peer has proved that it has this address, the network is not asked for its link address.
  link.interface().prepare_reply(tcp.destination, tcp.source, tcp.link_source, flow->header_);
  flow->header_ready_ = flow->header_is_reply_ = true;
  mark(*flow);
}

// RFC 4987 §3.6: creates the connection as if its SYN had been remembered.
TcpFlow* Tcp::reopen(Link& link, const FlowKey& key, const stack::SegmentIn& ack) {
  std::shared_ptr<const stack::Options> options = link.tcp_options(options_.tcp, key.local.is_v4());
  const auto handshake = cookies_.recall(*options, table_key(key), ack, now_);
  if (!handshake) {
    ++counters_.cookies_refused;
    return nullptr;
  }
  ++counters_.cookies_taken;
  return introduce(link, key,
                   stack::Connection::accept_answered(std::move(options), payloads_.ops(), handshake->syn,
                                                      handshake->iss, now_));
}

TcpFlow* Tcp::introduce(Link& link, const FlowKey& key, std::unique_ptr<stack::Connection> connection) {
  TcpFlow& flow = add_flow(key, link, nullptr, 0, std::move(connection));
  if (!engine_->acceptor()->on_connection(flow)) {
    abort(flow);
    return nullptr;
  }
  return &flow;
}

void Tcp::answer(Link& link, const net::TcpPacket& tcp, const stack::SegmentOut& segment) {
  if (!link.has_room()) {
    return;
  }
  net::LinkHeader header;
  link.interface().prepare_reply(tcp.destination, tcp.source, tcp.link_source, header);
  link.send(header, segment);
}

void Tcp::answer_with_reset(Link& link, const net::TcpPacket& tcp, const stack::SegmentIn& segment) {
  std::optional<stack::SegmentOut> reset = stack::reset_for(segment);
  if (!reset || !resets_.take(now_)) {
    return;
  }
  const FlowKey key{tcp.destination, tcp.source, {segment.destination_port, segment.source_port}};
  stack::put_reason(*reset, last_words_.of(key, now_));
  answer(link, tcp, *reset);
}

// A SYN that opens a connection in TIME-WAIT again replaces it (RFC 6191 §3). Returns true if it did.
bool Tcp::reincarnate(TcpFlow& flow, const net::TcpPacket& tcp, const stack::SegmentIn& syn) {
  const bool busy = flow.wants_output_ || flow.wants_progress_ || flow.finished_ || flow.handler_ != nullptr;
  if (busy || engine_->acceptor() == nullptr || half_open_ >= options_.max_half_open ||
      flow.key_.ports.local != options_.port || !flow.connection_->reopened_by(syn)) {
    return false;
  }
  ++counters_.time_wait_reused;
  const FlowKey key = flow.key_;
  Link& link = flow.link();
  // RFC 9293 §3.4.1: the clock of ISNs may have advanced by less than the old connection's data. The constant
  // adds the size of an unscaled window as a margin.
  constexpr std::uint32_t kBeyond = 65537;
  const Seq least = flow.connection_->info().snd_nxt + kBeyond;
  remove_flow(flow);
  begin_handshake(link, tcp, key, syn, max(initial_sequence(key), least));
  return true;
}

}  // namespace tfabric::link
