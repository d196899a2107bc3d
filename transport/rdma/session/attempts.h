// The attempts to connect that are under way.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include "base/time.h"
#include "transport/handle_envelope.h"

namespace tfabric::rdma::session {

// NCCL calls connect() repeatedly with the same handle memory:
// the handle contains the attempt's number, this table the attempt itself.
//
// NCCL does not say when it gives up an attempt, so attempts older than `longest` are dropped when the next
// one begins. Thread-safe; each attempt is used by one thread at a time.
template <class Attempt>
class Attempts {
 public:
  explicit Attempts(Duration longest) : longest_(longest) {}

  // Returns null if the handle has no attempt yet.
  [[nodiscard]] std::shared_ptr<Attempt> find(transport::ConstHandleBytes handle) const {
    const std::lock_guard guard(mutex_);
    const auto found = attempts_.find(transport::attempt_of(handle));
    return found == attempts_.end() ? nullptr : found->second.attempt;
  }

  void begin(transport::HandleBytes handle, std::shared_ptr<Attempt> attempt, Instant now) {
    // Declared before the lock, so that they are destroyed after it is released.
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

  // The attempt has succeeded or failed.
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
