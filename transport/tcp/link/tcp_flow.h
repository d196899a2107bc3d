// A flow over one of our TCP connections: the machine, its link, and the notes of Tcp about it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/address.h"
#include "base/time.h"
#include "transport/engine/flow.h"
#include "transport/engine/turn.h"
#include "transport/tcp/link/deadlines.h"
#include "transport/tcp/link/port_trial.h"
#include "transport/tcp/net/interface.h"
#include "transport/tcp/stack/connection.h"
#include "transport/tcp/stack/flow_table.h"

namespace tfabric::link {

class Link;
class Tcp;

struct FlowKey {
  net::IpAddress local;
  net::IpAddress remote;
  stack::Ports ports;
};

[[nodiscard]] inline stack::FlowTableKey table_key(const FlowKey& key) {
  return {.local = key.local.bytes, .remote = key.remote.bytes, .ports = key.ports};
}

class TcpFlow final : public engine::Flow, public Timed {
 public:
  TcpFlow(Tcp& tcp, const FlowKey& key, Link& link, engine::FlowHandler* handler, std::size_t index,
          std::unique_ptr<stack::Connection> connection);

  [[nodiscard]] const FlowKey& key() const { return key_; }
  [[nodiscard]] Link& link() const;  // in link.h
  [[nodiscard]] stack::Connection& connection() const { return *connection_; }

  [[nodiscard]] std::string describe() const override TF_IN_TURN;
  [[nodiscard]] net::IpAddress remote() const override TF_IN_TURN { return key_.remote; }
  void wake() override TF_IN_TURN;
  void close() override TF_IN_TURN;
  void abort(std::string_view reason = {}) override TF_IN_TURN;
  void set_recorder(const observe::RingWriter& recorder) override TF_IN_TURN { recorder_ = recorder; }
  void set_trusted(bool trusted) override TF_IN_TURN { connection_->keep_out_of_order(trusted); }
  [[nodiscard]] bool is_connecting() const override TF_IN_TURN {
    return connection_->state() == stack::State::syn_sent;
  }
  [[nodiscard]] bool lacks_neighbour() const override TF_IN_TURN;
  [[nodiscard]] std::string why_unreachable(Instant now) const override TF_IN_TURN;

 private:
  friend class Tcp;

  // When an ICMP error about the path's MTU was last believed, by the clock of timestamps; when that wraps,
  // the next one may be believed a second late. Here, where it takes no room.
  std::uint32_t mtu_told_ = 0;
  Tcp* tcp_;
  FlowKey key_;
  std::uint32_t position_ = 0;  // in Tcp::flows_; here, where it takes no room
  std::unique_ptr<stack::Connection> connection_;

  observe::RingWriter recorder_;

  // The bookkeeping of Tcp.
  net::LinkHeader header_{};
  std::uint32_t header_generation_ = 0;
  bool header_ready_ = false;
  bool header_is_reply_ = false;  // made from the SYN's own headers; valid until the handshake is done
  bool wants_output_ = false;     // in Link::output()
  bool wants_progress_ = false;   // in Tcp::progressed_
  bool half_open_ : 1 = false;    // accepted and not yet established
  // Accepted; its SYN came in by another engine's queue. In one byte with the above: flows are many.
  bool came_elsewhere_ : 1 = false;
  bool finished_ = false;   // in Tcp::finished_
  bool held_ = false;       // in Tcp::held_
  bool time_wait_ = false;  // in Tcp::time_wait_
  // While another local port may still be tried.
  std::unique_ptr<PortTrial> trial_;
};

// The flows of a link that have something to send: first in, first out, so that they share a link that takes
// less than they have. The caller must not push a flow that is in the queue. Not thread-safe.
class OutputQueue {
 public:
  [[nodiscard]] std::size_t size() const { return flows_.size() - first_; }
  void push(TcpFlow& flow) { flows_.push_back(&flow); }
  // Removes the flow that has waited longest. There must be one.
  TcpFlow& pop() {
    TcpFlow& flow = *flows_[first_++];
    // The entries taken are erased when they are half of all, so that each flow is moved at most once on
    // average.
    if (2 * first_ >= flows_.size()) {
      flows_.erase(flows_.begin(), flows_.begin() + static_cast<std::ptrdiff_t>(first_));
      first_ = 0;
    }
    return flow;
  }
  void clear() {
    flows_.clear();
    first_ = 0;
  }

 private:
  std::vector<TcpFlow*> flows_;
  std::size_t first_ = 0;
};

}  // namespace tfabric::link
