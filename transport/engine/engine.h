// An engine: a lock, and turns under it, in which carriers move bytes and comms get their time.
//
// A process has one engine or several, each with carriers and lanes of its own. An engine is only used with
// its lock held (turn.h); NCCL's threads leave their requests in a lock-free list (submit()). A turn is
//   submissions, sent at once -> what has come -> once a millisecond: service -> what is to be sent.
// An engine knows no kind of network: it gives turns to what it was given (Polled).
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "base/time.h"
#include "transport/engine/access.h"
#include "transport/engine/polled.h"
#include "transport/engine/rehearsal.h"

namespace tfabric::lane {
class Lane;
}

namespace tfabric::engine {

class Carrier;
class Flow;

// Accepts what peers open to the process.
class Acceptor {
 public:
  // Called before our own TCP answers the SYN; while many handshakes are open, only when the last segment of
  // the handshake has arrived. Sets the flow's handler; returns false to refuse the connection.
  virtual bool on_connection(Flow& flow) TF_IN_TURN = 0;
  // The same of a lane that is no stream.
  virtual bool on_lane(std::unique_ptr<lane::Lane> /*lane*/) TF_IN_TURN { return false; }
  // Called about once a millisecond.
  virtual void on_time(Instant /*now*/) TF_IN_TURN {}

 protected:
  ~Acceptor() = default;
};

// Someone with work to do at times when nothing arrives.
class Tended {
 public:
  // Called about once a millisecond.
  virtual void on_time(Instant now) TF_IN_TURN = 0;

 protected:
  ~Tended() = default;
};

// Looks at what the engine does, for readers outside of the process.
class Observer {
 public:
  // Called about once a millisecond, after all else.
  virtual void on_time(Instant now) TF_IN_TURN = 0;
  // The flow, or the carrier, has done all that it will ever do.
  virtual void on_flow_gone(Flow& flow) TF_IN_TURN = 0;
  virtual void on_carrier_gone(const Carrier& carrier) TF_IN_TURN = 0;

 protected:
  ~Observer() = default;
};

struct EngineOptions {
  std::uint16_t number = 0;            // the engine's number in the process
  Instant (*clock)() = monotonic_now;  // the time of the engine, and of what it turns
  // Faults of the process as a whole, which its engines share. Null: there will be none.
  std::shared_ptr<Rehearsal> rehearsal{};
};

class Engine {
 public:
  explicit Engine(const EngineOptions& options);
  ~Engine();
  Engine(const Engine&) = delete;
  Engine& operator=(const Engine&) = delete;

  [[nodiscard]] EngineLock& lock() { return lock_; }
  // Its number in the process.
  [[nodiscard]] std::uint16_t number() const { return options_.number; }
  void set_acceptor(Acceptor* acceptor) TF_IN_TURN { acceptor_ = acceptor; }
  // Of connections that come in; null: there is none.
  [[nodiscard]] Acceptor* acceptor() const TF_IN_TURN { return acceptor_; }
  // Null: none.
  void set_observer(Observer* observer) TF_IN_TURN { observer_ = observer; }
  [[nodiscard]] Observer* observer() const TF_IN_TURN { return observer_; }
  // Null: no fault of the process as a whole.
  [[nodiscard]] Rehearsal* rehearsal() const { return options_.rehearsal.get(); }

  // --- from any thread
  // Takes one turn, unless another thread holds the lock. Returns true if anything was done.
  bool progress();
  // `submitter` has left work: on_submitted() is called in this turn or the next. The object must not be
  // destroyed before take_submissions().
  void submit(Submitter& submitter) { submissions_.submit(submitter); }
  [[nodiscard]] Instant now() const { return options_.clock(); }
  // The time of the last turn.
  [[nodiscard]] Instant last_turn() const {
    return Instant(Duration(last_turn_.load(std::memory_order_relaxed)));
  }
  // When something was last submitted, or note_work() called; at first, when the engine was made.
  [[nodiscard]] Instant last_work() const {
    return Instant(Duration(last_work_.load(std::memory_order_relaxed)));
  }
  // How long, in all, no thread turned the engine for half a second or longer: the process was stopped, or
  // got no CPU. Limits on a peer's silence do not count this time.
  [[nodiscard]] Duration paused() const { return Duration(paused_.load(std::memory_order_relaxed)); }

  // --- with the lock held
  // Takes one turn. Returns true if anything was done: not while a rehearsal has frozen the process.
  bool turn() TF_IN_TURN;
  [[nodiscard]] std::uint64_t turns() const TF_IN_TURN { return turns_; }
  // Something has come that more may follow: not a probe of an idle connection, nor its answer (rest.h).
  void note_work() TF_IN_TURN { works_ = true; }
  // Calls all submitters. Afterwards, a submitter that submits no more may be destroyed.
  void take_submissions() TF_IN_TURN { submissions_.take(); }
  // Those that were added first have the first part of each half of a turn.
  void add(std::unique_ptr<Polled> polled) TF_IN_TURN {
    polled->count_in(outputs_);
    polled_.push_back(std::move(polled));
  }
  [[nodiscard]] const std::vector<std::unique_ptr<Polled>>& polled() const TF_IN_TURN { return polled_; }
  // Calls `use(carrier)` for each.
  template <class Use>
  void for_each_carrier(const Use& use) const TF_IN_TURN {
    for (const auto& polled : polled_) {
      for (std::size_t i = 0; i < polled->carriers(); ++i) {
        use(polled->carrier_at(i));
      }
    }
  }
  // Returns the carrier with this number; null if it has been removed.
  [[nodiscard]] Carrier* find_carrier(std::uint64_t number) const TF_IN_TURN;
  // Calls on_time() of the object until leave() is called; each may be called any number of times, also from
  // on_time().
  void tend(Tended& tended) TF_IN_TURN;
  void leave(Tended& tended) TF_IN_TURN;

  // Waits, for a bounded time, until no driver refers to payload memory. Call after aborting the flows that
  // send it.
  void drain_payload() TF_IN_TURN;
  [[nodiscard]] std::size_t flows() const TF_IN_TURN;
  // Returns true while a locally closed flow, which the peer has not closed, still has something to bring.
  [[nodiscard]] bool owes_peers() const TF_IN_TURN;
  // Forgets all flows: see Polled::halt().
  void halt() TF_IN_TURN;

 private:
  bool send(Instant now, bool quiet) TF_IN_TURN { return outputs_ > 0 && send_all(now, quiet); }
  bool send_all(Instant now, bool quiet) TF_IN_TURN;
  [[gnu::cold]] bool is_frozen(Instant now);
  void forgive_pause(Instant now) TF_IN_TURN;
  void serve(Instant now) TF_IN_TURN;

  EngineOptions options_;
  EngineLock lock_;
  std::atomic<Duration::rep> last_turn_{0}, last_work_;
  std::atomic<Duration::rep> paused_{0};
  Submissions submissions_;
  Acceptor* acceptor_ = nullptr;
  Observer* observer_ = nullptr;
  std::size_t outputs_ = 0;  // of these that follow, those that have something to send
  std::vector<std::unique_ptr<Polled>> polled_;
  std::vector<Tended*> tended_;  // null: has left
  Instant next_service_{};
  std::uint64_t turns_ = 0;
  bool works_ = false;  // in this turn
};

}  // namespace tfabric::engine
