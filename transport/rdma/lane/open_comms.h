// The comms that use a port, and what they have done.
#pragma once

#include <cstdint>
#include <functional>
#include <list>
#include <mutex>
#include <utility>
#include <vector>

#include "base/result.h"
#include "transport/rdma/lane/turn.h"

namespace tfabric::rdma {

// For the log, and for measuring the cost of a message.
struct Counters {
  std::uint64_t sent = 0, received = 0;  // messages
  std::uint64_t flushes = 0;             // calls of iflush that read GPU memory
  std::uint64_t work_requests = 0;       // posted to send queues: writes, announcements, reads
  std::uint64_t doorbells = 0;           // chains of work requests
  std::uint64_t completions = 0;         // read from completion queues

  Counters& operator+=(const Counters& other) {
    sent += other.sent;
    received += other.received;
    flushes += other.flushes;
    work_requests += other.work_requests;
    doorbells += other.doorbells;
    completions += other.completions;
    return *this;
  }
};

// The comms that use a port. Through this list they learn about events of their device, and continue their
// meeting while the application does not call them. Thread-safe.
class CommCore;
class CommObserver;

class OpenComms {
 public:
  // Is shown the comms, and outlives them; null: none is. To be set before the first comm is added.
  void set_observer(CommObserver* observer) { observer_ = observer; }
  [[nodiscard]] CommObserver* observer() const { return observer_; }
  // `call` is called when a comm is added whose ends have not met. To be set before the first comm is added.
  void on_joining(std::function<void()> call) { on_joining_ = std::move(call); }

  void add(CommCore& comm);
  // After it returns, no function is called on the comm.
  void remove(CommCore& comm);

  // Adds the counters of a closed comm; totals() is their sum.
  void count(const Counters& done);
  [[nodiscard]] Counters totals() const;

  // Lets no other thread do anything with the comms until thaw(), as if the process stood still; those that
  // are added meanwhile go on. By one thread, which calls nothing else here in between.
  void freeze();
  void thaw();

  // Continues all meetings. Returns true once all are over.
  bool join_all();
  // Fails the comm that owns this queue pair or completion queue, if there is one.
  void fail_owner(const void* object, const Error& error);
  void fail_all(const Error& error);

 private:
  CommObserver* observer_ = nullptr;
  std::function<void()> on_joining_;
  mutable std::mutex mutex_;
  Counters totals_;
  std::vector<CommCore*> comms_;
  std::vector<CommCore*> joining_;
  struct Held {
    explicit Held(CommCore& held);
    CommCore* comm;
    Turn turn;
  };
  std::list<Held> frozen_;
};

}  // namespace tfabric::rdma
