// What an engine gives turns: our own TCP, or an interface of the kernel's.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/time.h"
#include "transport/engine/turn.h"

namespace tfabric::engine {

class Carrier;
class Flow;

struct PolledCounters {
  std::uint64_t segments = 0;  // that have come
  std::uint64_t no_flow = 0;   // of these, those of no connection
};

// Belongs to one engine, which calls these functions a few times a turn, never for each packet.
class Polled {
 public:
  Polled() = default;
  virtual ~Polled() = default;
  Polled(const Polled&) = delete;
  Polled& operator=(const Polled&) = delete;

  // The two halves of a turn: bytes and news to the handlers, and what the handlers have queued to the peers.
  // Return true if anything was done, or is held back for a moment (hold.h). `quiet`: in the first half of
  // this turn nothing has come, and nothing was submitted. If something was, send() is also called before
  // receive(). Neither is called in a turn for which it has nothing to do, as NCCL's threads take millions
  // of.
  virtual bool receive(Instant now) TF_IN_TURN = 0;
  virtual bool send(Instant now, bool quiet) TF_IN_TURN = 0;
  // Called about once a millisecond, between the two.
  virtual void on_time(Instant now) TF_IN_TURN = 0;
  // The process did not run for this time, until now. What peers have sent waits, and is not looked at yet.
  virtual void forgive(Duration /*pause*/, Instant /*now*/) TF_IN_TURN {}

  // `place` < carriers(), which changes only when a carrier is added or removed.
  [[nodiscard]] virtual std::size_t carriers() const TF_IN_TURN = 0;
  [[nodiscard]] virtual Carrier& carrier_at(std::size_t place) TF_IN_TURN = 0;
  [[nodiscard]] virtual std::size_t flows() const TF_IN_TURN = 0;
  // `place` < flows(); a flow may have another place in the next turn.
  [[nodiscard]] virtual Flow& flow_at(std::size_t place) const TF_IN_TURN = 0;
  // Returns true while a flow that was closed here has bytes that have not left.
  [[nodiscard]] virtual bool owes_peers() const TF_IN_TURN = 0;
  [[nodiscard]] virtual PolledCounters counters() const TF_IN_TURN { return {}; }
  // Waits, for a bounded time, until nothing refers to payload memory.
  virtual void drain_payload() TF_IN_TURN {}
  // Forgets all flows, without a word to their peers, and frees what other engines have handed over. No
  // engine that shares a wire with this one may be turned afterwards, because it may hold packets of this
  // one's pool.
  virtual void halt() TF_IN_TURN = 0;

  [[nodiscard]] bool rests(Instant now) const TF_IN_TURN { return now < rests_until_; }
  [[nodiscard]] bool has_output() const TF_IN_TURN { return has_output_; }
  // It is among those of which `outputs` have something to send: the engine's count, which outlives it.
  void count_in(std::size_t& outputs) TF_IN_TURN {
    outputs += has_output_ ? 1 : 0;
    outputs_ = &outputs;
  }

 protected:
  // Whether send() has something to do. At first it has.
  void set_output(bool has) {
    if (outputs_ != nullptr && has != has_output_) {
      *outputs_ = has ? *outputs_ + 1 : *outputs_ - 1;
    }
    has_output_ = has;
  }

  Instant rests_until_{};  // receive() has nothing to do before

 private:
  bool has_output_ = true;
  std::size_t* outputs_ = nullptr;
};

}  // namespace tfabric::engine
