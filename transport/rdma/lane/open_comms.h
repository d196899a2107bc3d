// What comms have done, for the log and for measuring what a message costs.
#pragma once

#include <cstdint>
#include <functional>
#include <mutex>
#include <utility>
#include <vector>

#include "base/result.h"

namespace tfabric::rdma {

struct Counters {
  std::uint64_t sent = 0, received = 0;  // messages
  std::uint64_t flushes = 0;             // calls of iflush that read from GPU memory
  std::uint64_t work_requests = 0;       // to send queues: writes, announcements, reads
  std::uint64_t doorbells = 0;           // chains of them
  std::uint64_t completions = 0;         // taken from completion queues

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

// The comms that use a port, for what they cannot see or do themselves: events of its device, and the meeting
// with a peer while nobody posts anything. Thread-safe.

class CommCore;

class OpenComms {
 public:
  // Called when a comm comes whose ends have not met yet. To be set before there is any.
  void on_unjoined(std::function<void()> call) { on_unjoined_ = std::move(call); }

  void add(CommCore& comm);
  // Nothing is called on the comm once it returns.
  void remove(CommCore& comm);

  // What a comm has done that is closed; and what all of these have.
  void count(const Counters& done);
  [[nodiscard]] Counters totals() const;

  // Goes on with all meetings. True: all are over.
  bool join_all();
  // The comm that has this queue pair or completion queue, if any, fails.
  void fail_owner(const void* object, const Error& error);
  void fail_all(const Error& error);

 private:
  std::function<void()> on_unjoined_;
  mutable std::mutex mutex_;
  Counters totals_;
  std::vector<CommCore*> comms_;
  std::vector<CommCore*> unjoined_;
};

}  // namespace tfabric::rdma
