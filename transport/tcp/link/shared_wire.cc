// Engines that share a wire: the packets that others hand over, and the choice of a connection's local port
// so that few packets have to be handed over.
#include <rte_mbuf.h>

#include <algorithm>

#include "transport/tcp/link/port_trial.h"
#include "transport/tcp/link/tcp.h"

namespace tfabric::link {
namespace {

// How many ports, for each engine, are skipped because the NIC's hash leads to another queue, before any is
// taken.
constexpr int kPassedOver = 64;

// With two queues at each end, one port in four is right at both. Each try takes a round trip.
constexpr int kTriesPerEngine = 4;
constexpr int kMostTries = 24;

}  // namespace

bool Tcp::receive_from_others(Link& link) {
  const ExchangeMember& member = link.member();
  std::array<rte_mbuf*, kBurst> packets;
  arrival_ = Arrival::news;
  std::uint16_t count = member.exchange->take_news(packets, member.self, counters_.exchange);
  on_burst(link, std::span(packets).first(count));
  arrival_ = Arrival::handed_over;
  count = member.exchange->take_segments(packets, member.self, counters_.exchange);
  on_burst(link, std::span(packets).first(count));
  arrival_ = Arrival::own_queue;
  return count > 0;
}

// Returns a local port for a connection; nothing if none is free. If the NIC's hash is known, prefers a port
// whose packets come in by our queue.
std::optional<std::uint16_t> Tcp::choose_port(Link& link, const net::IpAddress& local,
                                              const net::IpAddress& remote, std::uint16_t remote_port) {
  const ExchangeMember& member = link.member();
  const nic::Rss* rss = member.hashed ? link.port().rss() : nullptr;
  int patience = rss == nullptr ? 0 : kPassedOver * member.exchange->ports().engines();
  return free_port(local, remote, remote_port, [&](std::uint16_t port) {
    if (--patience < 0) {
      return true;
    }
    return rss->queue_of({remote, local, remote_port, port}).value_or(member.self) == member.self;
  });
}

void Tcp::begin_trial(TcpFlow& flow) {
  const ExchangeMember& member = flow.link().member();
  if (member.hashed) {
    flow.trial_ = std::make_unique<PortTrial>(member.exchange->ports().engines());
  }
}

// Called with each segment of a flow whose port is on trial. Returns true if the segment answered a SYN that
// is now sent again from another port; it needs no further handling.
bool Tcp::try_another_port(TcpFlow& flow, const net::TcpPacket& tcp, const stack::SegmentIn& segment) {
  constexpr std::uint8_t kSynAck = stack::flag::syn | stack::flag::ack;
  const stack::ConnectionInfo info = flow.connection_->info();
  if (info.state != stack::State::syn_sent) {
    flow.trial_.reset();
    return false;
  }
  if ((segment.flags & (kSynAck | stack::flag::rst)) != kSynAck || segment.ack != info.snd_una + 1) {
    return false;
  }
  const FlowKey& key = flow.key_;
  std::optional<std::uint16_t> port;
  switch (flow.trial_->judge(key.ports.local, {.here = arrival_ == Arrival::own_queue,
                                               .there = segment.window != kElsewhereWindow})) {
    case PortTrial::Verdict::keep:
      break;
    case PortTrial::Verdict::another:
      port = choose_port(flow.link(), key.local, key.remote, key.ports.remote);
      break;
    case PortTrial::Verdict::best:
      port = flow.trial_->best();
      if (table_.find(table_key({key.local, key.remote, {*port, key.ports.remote}})) != nullptr) {
        port.reset();  // another flow has it by now
      }
      break;
  }
  if (!port) {
    flow.trial_.reset();
    return false;
  }
  if (const auto reset = stack::reset_for(segment)) {
    answer(flow.link(), tcp, *reset);
  }
  move(flow, *port);
  return true;
}

void Tcp::move(TcpFlow& flow, std::uint16_t port) {
  ++counters_.ports_tried;
  table_.erase(table_key(flow.key_));
  known_.forget(flow);
  flow.key_.ports.local = port;
  table_.insert(table_key(flow.key_), &flow);
  flow.connection_->begin_anew(flow.key_.ports, initial_sequence(flow.key_), now_);
  if (flow.handler_ != nullptr) {
    flow.handler_->on_moved(flow);
  }
  mark(flow);
}

void Tcp::halt() {
  held_.clear();
  flows_.clear();
  for (const auto& link : links_) {
    if (const ExchangeMember& member = link->member(); member.exchange != nullptr) {
      member.exchange->drop(member.self);
    }
  }
}

// --- PortTrial

PortTrial::PortTrial(std::uint16_t engines) : tries_left_(std::min(kTriesPerEngine * engines, kMostTries)) {}

PortTrial::Verdict PortTrial::judge(std::uint16_t port, const Answer& answer) {
  const int score = (answer.there ? 2 : 0) + (answer.here ? 1 : 0);
  constexpr int kRight = 3;
  if (decided_ || score == kRight) {
    return Verdict::keep;
  }
  if (score > best_score_) {
    best_score_ = score;
    best_ = port;
  }
  if (--tries_left_ > 0) {
    return Verdict::another;
  }
  decided_ = true;
  return score == best_score_ ? Verdict::keep : Verdict::best;
}

}  // namespace tfabric::link
