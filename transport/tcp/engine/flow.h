// One TCP connection in an engine: the machine, the link it uses, and whoever handles its bytes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

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

// The user of a flow. Called with the engine held; must not block. May close or abort flows.
class FlowHandler {
 public:
  // Bytes in order; returns how many were taken. The rest is shown again when resume() is called or more
  // arrive.
  virtual std::size_t on_data(Flow& flow, std::span<const std::byte> bytes) = 0;
  // Something moved: the handshake is done, bytes were acknowledged, there is room to send, the peer has
  // finished. At most once a flow and turn.
  virtual void on_progress(Flow& flow) = 0;
  // The flow failed. It is gone when this returns.
  virtual void on_failed(Flow& flow, stack::ConnectionError error) = 0;
  // It has another local port now. Only before its handshake is done.
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
  FlowHandler* handler_;  // null: closing, nobody listens any more
  std::size_t index_;
  std::unique_ptr<stack::Connection> connection_;

  // The engine's bookkeeping.
  net::LinkHeader header_{};
  std::uint32_t header_generation_ = 0;
  bool header_ready_ = false;
  bool header_is_reply_ = false;  // made of what the header answers; good until the handshake is done
  bool wants_output_ = false;     // in Link::output()
  bool wants_progress_ = false;   // in Engine::progressed_
  bool half_open_ = false;        // accepted and not yet established
  bool came_elsewhere_ = false;   // accepted, and its SYN came in by another engine's queue
  bool finished_ = false;         // in Engine::finished_
  bool time_wait_ = false;        // in Engine::time_wait_
  std::size_t position_ = 0;      // in Engine::flows_
  Instant mtu_told_{};            // when an ICMP error about it was last believed
  // While it is not settled from which port it is opened.
  std::unique_ptr<PortTrial> trial_;
};

}  // namespace tfabric::engine
