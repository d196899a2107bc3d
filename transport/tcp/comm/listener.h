// A listener of the TCP transport: a token, and the comms that peers are opening with it.
#pragma once

#include <atomic>
#include <bitset>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>

#include "transport/tcp/comm/context.h"
#include "transport/tcp/comm/recv_comm.h"
#include "transport/tcp/session/acceptor.h"

namespace tfabric::tcp {

// The comms that peers are opening to one listener. Used with the engine held, except where said.
class Pending final : public FlowSink {
 public:
  explicit Pending(const Context& context) : context_(context) {}

  // Fails if the hello's numbers contradict those of the comm's other flows.
  Status take_flow(engine::Flow& flow, const Hello& hello,
                   std::unique_ptr<lane::FlowReader>& reader) override;
  // From any thread.
  [[nodiscard]] bool has_ready() const { return ready_count_.load(std::memory_order_acquire) > 0; }
  // Returns a comm all of whose flows are there; null if there is none.
  std::unique_ptr<RecvComm> take();
  // Resets all connections of comms that were not taken. Destroying the comms needs the engine released.
  void abandon();

 private:
  // A comm some of whose flows are missing.
  struct Half {
    std::unique_ptr<RecvComm> comm;
    std::uint16_t flows = 0;
    std::bitset<kMaxFlows> there;  // by the connector's number
  };

  Context context_;
  std::map<std::uint64_t, Half> halves_;
  std::deque<std::unique_ptr<RecvComm>> ready_;
  std::atomic<std::size_t> ready_count_{0};
};

class Listener final : public transport::Listener {
 public:
  Listener(const Context& context, Acceptor& acceptor, const Token& token);
  // Comms that were opened and not accepted are reset: their connectors see an error.
  ~Listener() override;

  Result<std::unique_ptr<transport::RecvComm>> accept() override;

 private:
  Context context_;
  Acceptor* acceptor_;
  Token token_;
  std::unique_ptr<Pending> pending_;
};

}  // namespace tfabric::tcp
