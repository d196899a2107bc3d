// The engine's part in a wire that engines share: what others hand over, and from which port a connection is
// opened so that little has to be handed over.
#include <rte_mbuf.h>

#include "transport/tcp/engine/engine.h"
#include "transport/tcp/engine/port_trial.h"

namespace tfabric::engine {
namespace {

// Ports that the NIC's own hash leads elsewhere and that are passed over, an engine, before any is taken.
constexpr int kPassedOver = 64;

}  // namespace

bool Engine::receive_from_others(Link& link) {
  const ExchangeMember& member = link.member();
  std::array<rte_mbuf*, kBurst> packets;
  arrival_ = Arrival::news;
  std::uint16_t count = member.exchange->take_news(packets, member.self, counters_.exchange);
  for (std::uint16_t i = 0; i < count; ++i) {
    on_packet(link, packets[i]);
  }
  arrival_ = Arrival::handed_over;
  count = member.exchange->take_segments(packets, member.self, counters_.exchange);
  for (std::uint16_t i = 0; i < count; ++i) {
    on_packet(link, packets[i]);
  }
  arrival_ = Arrival::own_queue;
  return count > 0;
}

// A local port for a connection; empty if none is free. One is preferred whose packets come in by our queue,
// where the NIC says which do.
std::optional<std::uint16_t> Engine::choose_port(Link& link, const net::IpAddress& local,
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

void Engine::begin_trial(Flow& flow) {
  const ExchangeMember& member = flow.link_->member();
  if (member.hashed) {
    flow.trial_ = std::make_unique<PortTrial>(member.exchange->ports().engines());
  }
}

// Called with each segment of a flow that is on trial. True: it was the answer to a SYN that is to be sent
// again from another port, and is dealt with.
bool Engine::try_another_port(Flow& flow, const net::TcpPacket& tcp, const stack::SegmentIn& segment) {
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
      port = choose_port(*flow.link_, key.local, key.remote, key.ports.remote);
      break;
    case PortTrial::Verdict::best:
      port = flow.trial_->best();
      if (table_.find(table_key({key.local, key.remote, {*port, key.ports.remote}})) != nullptr) {
        port.reset();  // somebody else has it by now
      }
      break;
  }
  if (!port) {
    flow.trial_.reset();
    return false;
  }
  if (const auto reset = stack::reset_for(segment)) {
    answer(*flow.link_, tcp, *reset);
  }
  move(flow, *port);
  return true;
}

void Engine::move(Flow& flow, std::uint16_t port) {
  ++counters_.ports_tried;
  table_.erase(table_key(flow.key_));
  flow.key_.ports.local = port;
  table_.insert(table_key(flow.key_), &flow);
  flow.connection_->begin_anew(flow.key_.ports, initial_sequence(flow.key_), now_);
  if (flow.handler_ != nullptr) {
    flow.handler_->on_moved(flow);
  }
  mark(flow);
}

void Engine::halt() {
  flows_.clear();
  for (const auto& link : links_) {
    if (const ExchangeMember& member = link->member(); member.exchange != nullptr) {
      member.exchange->drop(member.self);
    }
  }
}

}  // namespace tfabric::engine
