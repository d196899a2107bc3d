// Ends of flows for tests that ask why a flow has failed.
#pragma once

#include <string>

#include "transport/lane/flow_failure.h"
#include "transport/tcp/link/tcp.h"

namespace tfabric::comm::test {

// Takes all data, and keeps the reason of the failure.
struct FlowWatcher final : engine::FlowHandler {
  std::size_t on_data(engine::Flow& /*flow*/, std::span<const std::byte> bytes) override {
    return bytes.size();
  }
  void on_progress(engine::Flow& /*flow*/) override {}
  void on_failed(engine::Flow& flow, stack::ConnectionError error) override {
    why = lane::why_failed(flow, error, in_use, monotonic_now());
  }
  bool in_use = true;
  std::string why;
};

// Accepts a connection.
struct Door final : engine::Acceptor {
  bool on_connection(engine::Flow& flow) override {
    accepted = &flow;
    flow.set_handler(&guest, 0);
    return true;
  }
  engine::Flow* accepted = nullptr;
  FlowWatcher guest;
};

}  // namespace tfabric::comm::test
