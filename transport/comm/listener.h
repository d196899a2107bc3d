// A listener of the TCP transport: a token, and the comms that peers are opening with it.
#pragma once

#include <atomic>
#include <cstdint>
#include <deque>
#include <memory>
#include <set>

#include "transport/comm/context.h"
#include "transport/comm/recv_comm.h"
#include "transport/engine/turn.h"
#include "transport/session/acceptor.h"

namespace tfabric::comm {

// The comms that peers are opening to one listener.
class Pending final : public session::LaneSink {
 public:
  explicit Pending(const Context& context) : context_(context) {}

  // Makes a comm of the first lane to arrive; the others join it.
  Status take_lane(std::unique_ptr<lane::Lane>& lane, const session::Hello& hello) override TF_IN_TURN;
  // From any thread.
  [[nodiscard]] bool has_ready() const { return ready_count_.load(std::memory_order_acquire) > 0; }
  // Returns a comm that has a lane; null if there is none.
  std::unique_ptr<RecvComm> take() TF_IN_TURN;
  // Resets all connections of comms that were not taken. Destroying the comms needs the engine released.
  void abandon() TF_IN_TURN;

 private:
  Context context_;
  std::deque<std::unique_ptr<RecvComm>> ready_;
  // The numbers of all comms that were made: a lane that comes late makes no second one.
  std::set<std::uint64_t> made_;
  std::atomic<std::size_t> ready_count_{0};
};

class Listener final : public transport::Listener {
 public:
  Listener(const Context& context, session::Acceptor& acceptor, const session::Token& token);
  // Comms that were opened and not accepted are reset: their connectors see an error.
  ~Listener() override;

  Result<std::unique_ptr<transport::RecvComm>> accept() override;

 private:
  Context context_;
  session::Acceptor* acceptor_;
  session::Token token_;
  std::unique_ptr<Pending> pending_;
};

}  // namespace tfabric::comm
