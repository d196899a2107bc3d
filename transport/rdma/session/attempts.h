// How long the steps of a connection may take.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include "base/time.h"
#include "config/config.h"
#include "transport/handle_envelope.h"

namespace tfabric::rdma::session {

struct Patience {
  Duration step{};    // rdma.connect_timeout_ms: each step but the next
  Duration accept{};  // rdma.accept_timeout_ms: until the peer's rank accepts
};

[[nodiscard]] inline Patience patience_of(const config::Rdma& wishes) {
  return {.step = wishes.connect_timeout, .accept = wishes.accept_timeout};
}

// The attempts to connect that are under way. NCCL calls connect() again and again with the same handle
// memory: the attempt's number stands there, the attempt itself here.
//
// One that NCCL gives up is never called again: it is forgotten when the next begins, after `longest`. From
// any thread; an attempt itself is used by one thread at a time.

template <class Attempt>
class Attempts {
 public:
  explicit Attempts(Duration longest) : longest_(longest) {}

  // Null: the handle's attempt has not begun yet.
  [[nodiscard]] std::shared_ptr<Attempt> find(transport::ConstHandleBytes handle) const {
    const std::lock_guard guard(mutex_);
    const auto found = attempts_.find(transport::attempt_of(handle));
    return found == attempts_.end() ? nullptr : found->second.attempt;
  }

  void begin(transport::HandleBytes handle, std::shared_ptr<Attempt> attempt, Instant now) {
    // Destroyed after the lock is released.
    std::vector<std::shared_ptr<Attempt>> abandoned;
    const std::lock_guard guard(mutex_);
    for (auto i = attempts_.begin(); i != attempts_.end();) {
      if (now - i->second.since > longest_) {
        abandoned.push_back(std::move(i->second.attempt));
        i = attempts_.erase(i);
      } else {
        ++i;
      }
    }
    attempts_[++last_] = {std::move(attempt), now};
    transport::set_attempt(handle, last_);
  }

  // It is over, whichever way.
  void end(transport::HandleBytes handle) {
    const std::lock_guard guard(mutex_);
    attempts_.erase(transport::attempt_of(handle));
    transport::set_attempt(handle, 0);
  }

 private:
  struct Entry {
    std::shared_ptr<Attempt> attempt;
    Instant since;
  };

  Duration longest_;
  mutable std::mutex mutex_;
  std::map<std::uint64_t, Entry> attempts_;
  std::uint64_t last_ = 0;
};

}  // namespace tfabric::rdma::session
