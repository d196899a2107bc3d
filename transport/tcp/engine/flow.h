// One TCP connection in an engine: the machine, its link, and the handler of its bytes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "base/time.h"
#include "transport/tcp/engine/deadlines.h"
#include "transport/tcp/engine/port_trial.h"
#include "transport/tcp/net/address.h"
#include "transport/tcp/net/interface.h"
#include "transport/tcp/stack/connection.h"
#include "transport/tcp/stack/flow_table.h"

namespace tfabric::engine {

class Flow;
class Link;

// The user of a flow. Called with the engine held; must not block; may close or abort flows.
class FlowHandler {
 public:
  // Bytes in order. Returns how many were taken; the rest is passed again after resume() or when more arrive.
  virtual std::size_t on_data(Flow& flow, std::span<const std::byte> bytes) = 0;
  // Something has changed: the handshake is done, bytes were acknowledged, there is room to send, or the peer
  // has finished. At most once for each flow in a turn.
  virtual void on_progress(Flow& flow) = 0;
  // The flow has failed. Bytes in order that were not taken can still be read from its connection, which they
  // have reached whatever became of the flow. It no longer exists when this returns.
  virtual void on_failed(Flow& flow, stack::ConnectionError error) = 0;
  // The link of the flow has gone down. The connection goes on, and its bytes count as lost.
  virtual void on_link_away(Flow& /*flow*/) {}
  // The flow has another local port now. Only before its handshake is done.
  virtual void on_moved(Flow& /*flow*/) {}

 protected:
  ~FlowHandler() = default;
};

struct FlowKey {
  net::IpAddress local;
  net::IpAddress remote;
  stack::Ports ports;
};

[[nodiscard]] inline stack::FlowTableKey table_key(const FlowKey& key) {
  return {.local = key.local.bytes, .remote = key.remote.bytes, .ports = key.ports};
}

class Flow : public Timed {
 public:
  Flow(const FlowKey& key, Link& link, FlowHandler* handler, std::size_t index,
       std::unique_ptr<stack::Connection> connection)
      : key_(key), link_(&link), handler_(handler), index_(index), connection_(std::move(connection)) {}

  [[nodiscard]] const FlowKey& key() const { return key_; }
  [[nodiscard]] Link& link() const { return *link_; }
  [[nodiscard]] stack::Connection& connection() const { return *connection_; }
  // The handler's own number for this flow.
  [[nodiscard]] std::size_t index() const { return index_; }
  [[nodiscard]] FlowHandler* handler() const { return handler_; }
  void set_handler(FlowHandler* handler, std::size_t index) {
    handler_ = handler;
    index_ = index;
  }
  // Both ends, for messages: "[fd00::1]:50000 - [fd00::2]:4000".
  [[nodiscard]] std::string describe() const;

 private:
  friend class Engine;

  FlowKey key_;
  Link* link_;
  FlowHandler* handler_;  // null: the flow is closing
  std::size_t index_;
  std::unique_ptr<stack::Connection> connection_;

  // The engine's bookkeeping.
  net::LinkHeader header_{};
  std::uint32_t header_generation_ = 0;
  bool header_ready_ = false;
  bool header_is_reply_ = false;  // made from the SYN's own headers; valid until the handshake is done
  bool wants_output_ = false;     // in Link::output()
  bool wants_progress_ = false;   // in Engine::progressed_
  bool half_open_ = false;        // accepted and not yet established
  bool came_elsewhere_ = false;   // accepted; its SYN came in by another engine's queue
  bool finished_ = false;         // in Engine::finished_
  bool time_wait_ = false;        // in Engine::time_wait_
  std::size_t position_ = 0;      // in Engine::flows_
  Instant mtu_told_{};            // when an ICMP error about the path's MTU was last believed
  // While another local port may still be tried.
  std::unique_ptr<PortTrial> trial_;
};

// The flows of a link that have something to send: first in, first out, so that they share a link that takes
// less than they have. The caller must not push a flow that is in the queue. Not thread-safe.
class OutputQueue {
 public:
  [[nodiscard]] std::size_t size() const { return flows_.size() - first_; }
  void push(Flow& flow) { flows_.push_back(&flow); }
  // Removes the flow that has waited longest. There must be one.
  Flow& pop() {
    Flow& flow = *flows_[first_++];
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
  std::vector<Flow*> flows_;
  std::size_t first_ = 0;
};

}  // namespace tfabric::engine
