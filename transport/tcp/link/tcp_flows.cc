// The flows and links: how they are added, closed and removed.
#include <fmt/format.h>
#include <rte_mbuf.h>

#include <algorithm>
#include <cassert>
#include <ctime>

#include "base/log.h"
#include "transport/tcp/link/lcores.h"
#include "transport/tcp/link/tcp.h"
#include "transport/tcp/link/tcp_flow.h"

namespace tfabric::link {
namespace {

// After how many attempts, of a millisecond each, drain_payload() drops what a stalled driver does not take,
// and gives up.
constexpr int kDropAttempts = 10;
constexpr int kDrainAttempts = 1000;

}  // namespace

TcpFlow::TcpFlow(Tcp& tcp, const FlowKey& key, Link& link, engine::FlowHandler* handler, std::size_t index,
                 std::unique_ptr<stack::Connection> connection)
    : Flow(link, *connection, handler, index), tcp_(&tcp), key_(key), connection_(std::move(connection)) {}

void TcpFlow::wake() { tcp_->wake(*this); }
void TcpFlow::close() { tcp_->close(*this); }
void TcpFlow::abort(std::string_view reason) { tcp_->abort(*this, reason); }
bool TcpFlow::lacks_neighbour() const { return tcp_->is_silent(*this); }

std::string TcpFlow::why_unreachable(Instant now) const {
  const net::Interface& interface = link().interface();
  const auto next = interface.next_hop(key_.remote);
  if (!next || !interface.is_silent(key_.remote, now)) {
    return {};
  }
  return fmt::format("{} answers no {} on rail {}", net::to_string(*next),
                     next->is_v4() ? "ARP" : "neighbour solicitation", link().name());
}

std::string TcpFlow::describe() const {
  return net::to_string(key_.local, key_.ports.local) + " - " +
         net::to_string(key_.remote, key_.ports.remote);
}

TcpFlow& Tcp::add_flow(const FlowKey& key, Link& link, engine::FlowHandler* handler, std::size_t index,
                       std::unique_ptr<stack::Connection> connection) {
  flows_.push_back(std::make_unique<TcpFlow>(*this, key, link, handler, index, std::move(connection)));
  TcpFlow& flow = *flows_.back();
  flow.position_ = static_cast<std::uint32_t>(flows_.size() - 1);
  last_words_.forget(key);
  table_.insert(table_key(key), &flow);
  wake_up();
  return flow;
}

Seq Tcp::initial_sequence(const FlowKey& key) const {
  return sequences_.initial(key.local.bytes, key.remote.bytes, key.ports, now_);
}

TcpFlow* Tcp::connect(Link& link, const net::IpAddress& remote, std::uint16_t port,
                      engine::FlowHandler* handler, std::size_t index) {
  const std::optional<net::IpAddress> local = link.interface().source_for(remote);
  if (!local) {
    return nullptr;
  }
  const std::optional<std::uint16_t> local_port = choose_port(link, *local, remote, port);
  if (!local_port) {
    return nullptr;
  }
  const FlowKey key{*local, remote, {*local_port, port}};
  auto connection =
      stack::Connection::connect(link.tcp_options(options_.tcp, remote.is_v4()), payloads_.ops(), key.ports,
                                 initial_sequence(key), engine_->now());
  TcpFlow& flow = add_flow(key, link, handler, index, std::move(connection));
  begin_trial(flow);
  wake(flow);
  return &flow;
}

void Tcp::close(TcpFlow& flow) {
  flow.handler_ = nullptr;
  flow.connection_->close();
  mark(flow);
}

bool Tcp::owes_peers() const {
  return std::any_of(flows_.begin(), flows_.end(), [](const auto& flow) {
    const stack::State state = flow->connection_->state();
    return flow->handler_ == nullptr &&
           (state == stack::State::syn_received || state == stack::State::established ||
            state == stack::State::fin_wait_1);
  });
}

// Unacknowledged bytes may wait for room in the driver by reference: they are dropped, because their owner
// may now free the memory.
void Tcp::forget_payload(TcpFlow& flow) {
  if (flow.connection_->stream_written() != flow.connection_->stream_acked()) {
    flow.link().drop_staged();
  }
}

void Tcp::abort(TcpFlow& flow, std::string_view reason) {
  flow.handler_ = nullptr;
  forget_payload(flow);
  if (!reason.empty() && flow.connection_->state() != stack::State::closed) {
    last_words_.note(flow.key_, reason, now_);
  }
  flow.connection_->abort(reason);
  mark(flow);
}

void Tcp::remove_flow(TcpFlow& flow) {
  if (engine_->observer() != nullptr) {
    engine_->observer()->on_flow_gone(flow);
  }
  if (flow.half_open_) {
    --half_open_;
  }
  if (flow.time_wait_) {
    time_wait_.erase(std::find(time_wait_.begin(), time_wait_.end(), &flow));
  }
  if (flow.held_) {
    std::erase(held_, &flow);
  }
  deadlines_.remove(flow);
  table_.erase(table_key(flow.key_));
  known_.forget(flow);
  const std::uint32_t position = flow.position_;
  if (position + 1 != flows_.size()) {
    flows_[position].swap(flows_.back());
    flows_[position]->position_ = position;
  }
  flows_.pop_back();
}

// Removes flows that have nothing left to do. Those that are still in another list wait for the next turn; a
// flow that still has a handler comes back here when the handler has released it.
void Tcp::reap() {
  std::size_t kept = 0;
  for (TcpFlow* flow : finished_) {
    if (flow->wants_output_ || flow->wants_progress_) {
      finished_[kept++] = flow;
    } else if (flow->handler_ == nullptr) {
      remove_flow(*flow);
    } else {
      flow->finished_ = false;
    }
  }
  finished_.resize(kept);
}

void Tcp::add_link(std::unique_ptr<Link> link, bool announce) {
  if (announce) {
    link->interface().announce(now_);
  }
  use_lcores_of_engines(engine_->lock());
  link->enter(*this);
  links_.push_back(std::move(link));
  wake_up();
}

std::unique_ptr<Link> Tcp::remove_link(Link& link) {
  link.retire();
  end_flows_of(link);
  run_progress();
  const auto on_link = [&link](const TcpFlow* flow) { return &flow->link() == &link; };
  link.output().clear();
  std::erase_if(progressed_, on_link);
  std::erase_if(finished_, on_link);
  for (std::size_t i = flows_.size(); i-- > 0;) {
    if (&flows_[i]->link() == &link) {
      remove_flow(*flows_[i]);
    }
  }
  const auto found =
      std::find_if(links_.begin(), links_.end(), [&link](const auto& l) { return l.get() == &link; });
  assert(found != links_.end());
  if (engine_->observer() != nullptr) {
    engine_->observer()->on_carrier_gone(link);
  }
  std::unique_ptr<Link> removed = std::move(*found);
  links_.erase(found);
  return removed;
}

void Tcp::drain_payload() {
  for (const auto& link : links_) {
    for (int attempt = 0; link->holds_payload(); ++attempt) {
      link->port().attend(now_);  // a device that is being stopped lets go of what it holds
      if (attempt == kDropAttempts) {
        link->drop_staged();
      }
      if (attempt == kDrainAttempts) {
        TF_WARN("NET/tfabric: the driver of {} still holds packets of memory that is being deregistered",
                link->port().name());
        break;
      }
      timespec pause{.tv_sec = 0, .tv_nsec = 1000000};
      nanosleep(&pause, nullptr);
    }
  }
}

}  // namespace tfabric::link
