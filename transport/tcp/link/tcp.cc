#include "transport/tcp/link/tcp.h"

#include <algorithm>
#include <chrono>

#include "base/random.h"
#include "transport/engine/rest.h"
#include "transport/tcp/link/port_trial.h"
#include "transport/tcp/link/recording.h"

namespace tfabric::link {
namespace {

// With as many packets or more, a flow has had its turn, and the next one has its own.
constexpr std::uint32_t kPacketsPerTurn = 32;
// The most RSTs a second in answer to segments of no flow, which limits the answers to a scan. The burst is
// for flows that are aborted in full flight: each acknowledgement on its way asks for a RST, and the peer's
// challenge ACK comes after all of them.
constexpr double kResetsPerSecond = 1000;
constexpr double kResetBurst = 256;
// How soon a peer's first packet is noticed where others carry.
constexpr Duration kLookInterval = std::chrono::milliseconds(1);

std::array<std::byte, 16> random_secret() {
  std::array<std::byte, 16> secret;
  fill_random(secret);
  return secret;
}

}  // namespace

Tcp::Tcp(engine::Engine& engine, const Options& options)
    : engine_(&engine),
      options_(options),
      payloads_(options.max_kept_packets),
      sequences_(random_secret()),
      cookies_(random_secret()),
      ports_(random_secret(), options.first_port, options.ports),
      table_(random_secret()),
      last_words_(random_secret()),
      resets_(kResetsPerSecond, kResetBurst, random_u64()) {
  if (options_.port == 0) {
    options_.port = static_cast<std::uint16_t>(options_.first_port + random_u64() % options_.ports);
  }
  options_.tcp.held_ack_bytes = engine::Hold::kMostBytes;
  options_.tcp.max_peer_rest = engine::kMostRest;
  now_ = engine.now();
  rests_until_ = kNever;  // until there is a link
}

Tcp::~Tcp() {
  flows_.clear();
  links_.clear();
}

bool Tcp::receive(Instant now) {
  now_ = now;
  set_output(true);
  bool worked = false;
  for (const auto& link : links_) {
    worked |= receive_from(*link);
  }
  run_timers();
  return worked;
}

bool Tcp::send(Instant now, bool quiet) {
  now_ = now;
  run_progress();
  if (hold_.is_over(now, quiet)) {
    release_acknowledgements();
  }
  bool worked = hold_.lasts();
  for (const auto& link : links_) {
    worked |= run_output(*link);
    link->flush();
  }
  reap();
  if (flows_.empty() && (links_.empty() || (beside_ && !worked))) {
    rests_until_ = links_.empty() ? kNever : now + kLookInterval;
    set_output(false);
  }
  return worked;
}

// --- time, handlers, output

void Tcp::run_timers() {
  while (Timed* due = deadlines_.take_due(now_)) {
    auto& flow = static_cast<TcpFlow&>(*due);
    flow.connection_->on_time(now_);
    mark(flow);  // its next deadline is read after its output
  }
}

// Looks at the flows only when a neighbour's timer has expired, so that confirming one costs no lookup for an
// acknowledgement. Mostly the first flow that uses the neighbour has made progress.
class Tcp::LinkProgress final : public net::UpperLayer {
 public:
  LinkProgress(const std::vector<std::unique_ptr<TcpFlow>>& flows, Link& link)
      : flows_(&flows), link_(&link) {}

  [[nodiscard]] bool has_progress(const net::IpAddress& neighbour, Instant since) const override {
    return std::any_of(flows_->begin(), flows_->end(), [&](const auto& flow) {
      return &flow->link() == link_ && link_->interface().next_hop(flow->key_.remote) == neighbour &&
             flow->connection_->progressed_at() > since;
    });
  }

 private:
  const std::vector<std::unique_ptr<TcpFlow>>* flows_;
  Link* link_;
};

void Tcp::forgive(Duration pause, Instant now) {
  for (const auto& flow : flows_) {
    flow->connection_->forgive(pause, now);
  }
}

void Tcp::on_time(Instant now) {
  now_ = now;
  if (!links_.empty()) {
    set_output(true);  // news of neighbours
  }
  for (const auto& link : links_) {
    const LinkProgress progress(flows_, *link);
    link->interface().on_time(now_, &progress);
    const bool was_away = link->is_away();
    link->watch(now_);
    if (link->is_away() && !was_away) {
      on_link_away(*link);
    }
    if (link->is_away() || link->stalled(now_)) {
      // Otherwise flows that have ended and wait for room for their last segment would stay.
      link->drop_staged();
    }
    if (link->has_ended(now_)) {
      end_flows_of(*link);
    }
  }
}

void Tcp::end_flows_of(const Link& link) {
  for (const auto& flow : flows_) {
    if (&flow->link() == &link && flow->connection_->error() == stack::ConnectionError::none) {
      flow->connection_->fail(stack::ConnectionError::unreachable);
      mark(*flow);
    }
  }
}

void Tcp::on_link_away(const Link& link) {
  std::size_t next = 0;
  while (next < flows_.size()) {  // handlers may open flows
    TcpFlow& flow = *flows_[next++];
    if (&flow.link() == &link && flow.handler_ != nullptr &&
        flow.connection_->error() == stack::ConnectionError::none) {
      flow.handler_->on_link_away(flow);
    }
  }
}

void Tcp::resume(TcpFlow& flow) {
  deliver(flow);
  mark(flow);
}

void Tcp::run_progress() {
  // Handlers mark flows while they run; these are handled in the next round of this loop.
  while (!progressed_.empty()) {
    progressed_now_.swap(progressed_);
    for (TcpFlow* flow : progressed_now_) {
      flow->wants_progress_ = false;
      stack::Connection& connection = *flow->connection_;
      if (flow->half_open_ && (connection.established() || connection.finished())) {
        flow->half_open_ = false;
        --half_open_;
        if (connection.established()) {
          flow->header_ready_ = flow->header_is_reply_ = false;
        }
      }
      if (engine::FlowHandler* handler = flow->handler_; handler != nullptr) {
        if (connection.error() == stack::ConnectionError::none) {
          handler->on_progress(*flow);
        } else {
          flow->handler_ = nullptr;
          forget_payload(*flow);
          handler->on_failed(*flow, failure_of(*flow));
        }
      }
    }
    progressed_now_.clear();
  }
}

// A neighbour that does not answer ends no flow before the flow times out itself, but is then reported as the
// reason (RFC 1122 §4.2.3.9: soft errors).
stack::ConnectionError Tcp::failure_of(const TcpFlow& flow) const {
  const stack::ConnectionError error = flow.connection_->error();
  return error == stack::ConnectionError::timed_out && is_silent(flow) ? stack::ConnectionError::unreachable
                                                                       : error;
}

bool Tcp::is_silent(const TcpFlow& flow) const {
  return flow.link().interface().is_silent(flow.key_.remote, now_);
}

// Behind what else the flows have to send.
void Tcp::release_acknowledgements() {
  hold_.end();
  for (TcpFlow* flow : held_) {
    flow->held_ = false;
    flow->connection_->acknowledge_at_once();
    wake(*flow);
  }
  held_.clear();
}

// Stops as soon as the driver is full: thousands of flows may be waiting, for many turns.
bool Tcp::run_output(Link& link) {
  bool sent = false;
  for (std::size_t flows = link.output().size(); flows > 0 && link.make_room(); --flows) {
    TcpFlow& flow = link.output().pop();
    flow.wants_output_ = false;
    sent |= output(flow);
    deadlines_.set(flow, flow.connection_->next_deadline());
    bound_time_wait(flow);
    if (flow.connection_->finished() && !flow.finished_) {
      flow.finished_ = true;
      finished_.push_back(&flow);
    }
  }
  return sent;
}

bool Tcp::output(TcpFlow& flow) {
  if (flow.connection_->take_path_doubt()) {
    flow.link().interface().doubt(flow.key_.remote, now_);
  }
  if (!ready_to_send(flow)) {
    return false;
  }
  stack::SegmentOut& segment = outgoing_;
  bool sent = false;
  for (std::uint32_t packets = 0; packets < kPacketsPerTurn;) {
    if (!flow.link().make_room()) {
      break;
    }
    if (!flow.connection_->next_segment(segment, now_)) {
      if (flow.connection_->holds_acknowledgement() && !std::exchange(flow.held_, true)) {
        held_.push_back(&flow);
        hold_.begin(now_);
      }
      return sent;
    }
    if (flow.came_elsewhere_ && (segment.flags & stack::flag::syn) != 0) {
      segment.window = std::min(segment.window, kElsewhereWindow);
    }
    if (flow.recorder_.exists()) {
      record(flow.recorder_, recorder_page_, segment, now_);
    }
    if (!flow.link().send(flow.header_, segment)) {
      ++counters_.output_lost;
    }
    packets += flow.link().packets_of(segment);
    sent = true;
  }
  flow.connection_->hold_back(now_);
  wake(flow);
  return sent;
}

bool Tcp::ready_to_send(TcpFlow& flow) {
  net::Interface& interface = flow.link().interface();
  if (flow.header_ready_ && (flow.header_is_reply_ || flow.header_generation_ == interface.generation())) {
    return true;
  }
  switch (interface.prepare(flow.key_.local, flow.key_.remote, flow.header_, now_)) {
    case net::Interface::Route::ready:
      flow.header_ready_ = true;
      flow.header_generation_ = interface.generation();
      return true;
    case net::Interface::Route::pending:
      flow.header_ready_ = false;
      if (flow.connection_->state() == stack::State::closed && is_silent(flow)) {
        flow.connection_->fail(flow.connection_->error());  // its RST cannot be delivered
      } else {
        wake(flow);
      }
      return false;
    case net::Interface::Route::unreachable:
      flow.header_ready_ = false;
      if (!flow.connection_->finished()) {
        flow.connection_->fail(stack::ConnectionError::unreachable);
        mark(flow);
      }
      return false;
  }
  return false;
}

void Tcp::bound_time_wait(TcpFlow& flow) {
  if (flow.time_wait_ || flow.connection_->state() != stack::State::time_wait) {
    return;
  }
  flow.time_wait_ = true;
  time_wait_.push_back(&flow);
  if (time_wait_.size() > options_.max_time_wait) {
    ++counters_.time_wait_dropped;
    TcpFlow& oldest = *time_wait_.front();
    time_wait_.pop_front();
    oldest.time_wait_ = false;
    oldest.connection_->fail(stack::ConnectionError::none);
    wake(oldest);
  }
}

}  // namespace tfabric::link
