// The requests of a comm, as its user's thread has them, and how the comm has failed, as that thread sees it.
//
// A failure is reported by test() first: a request that is posted before that is taken, and ends with the
// error, since peers that close their communicators at about the same time must not make a post fail.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <memory>
#include <utility>
#include <vector>

#include "base/result.h"
#include "base/rings.h"
#include "transport/engine/progress.h"
#include "transport/engine/turn.h"
#include "transport/stripe/lane.h"
#include "transport/stripe/message.h"
#include "transport/transport.h"

namespace tfabric::comm {

// Set once by the engine's side, read by the user's.
class Failure {
 public:
  [[nodiscard]] bool happened() const { return happened_.load(std::memory_order_acquire); }
  // Valid once happened().
  [[nodiscard]] const Error& error() const { return error_; }
  void set(Error error) {
    error_ = std::move(error);
    happened_.store(true, std::memory_order_release);
  }
  // User's side: returns the error that has ended a request.
  [[nodiscard]] const Error& report() {
    reported_ = true;
    return error_;
  }
  [[nodiscard]] bool reported() const { return reported_; }

 private:
  std::atomic<bool> happened_{false};
  Error error_;
  bool reported_ = false;  // user's side
};

class Requests;

// One request of a comm. The comm's user fills it; the engine reads it once it is queued; it is the user's
// again when its completion is no longer pending. NCCL tests each outstanding request again and again: the
// fields that answer "not yet" lie in one cache line.
class alignas(64) Request final : public transport::Request {
 private:
  friend class Requests;
  engine::Progress* progress_ = nullptr;
  Requests* owner_ = nullptr;
  Request* next_free_ = nullptr;

 public:
  Result<bool> test(int* sizes) override;

  stripe::Completion completion;
  stripe::Outgoing send;  // of a send
  // Of a receive, or of a flush of what has come there: completion.count of them.
  std::array<transport::ReceiveBuffer, transport::kMaxGroupedReceives> buffers;
  bool flushes = false;
};

// The requests of one comm: up to kMaxRequests, handed out by isend and irecv, and given back by test. Memory
// for them is made as more of them are outstanding at once: a rank may have comms with ten thousand peers,
// and most need few.
class Requests {
 public:
  // `progress`: a test that finds its request pending gives it a turn.
  explicit Requests(engine::Progress& progress) : progress_(&progress) {}

  // --- user's side
  // Returns false if all are outstanding.
  [[nodiscard]] bool any_free() { return free_ != nullptr || grow(); }
  // Returns a request whose completion is pending; null if all are outstanding.
  Request* acquire() {
    if (!any_free()) {
      return nullptr;
    }
    Request* request = std::exchange(free_, free_->next_free_);
    request->completion.state.store(stripe::Completion::State::pending, std::memory_order_relaxed);
    request->completion.count = 1;
    request->flushes = false;
    return request;
  }
  void release(Request& request) { request.next_free_ = std::exchange(free_, &request); }
  // Queues it for the engine. There is room for all.
  void post(Request& request);
  // What a post returns once the comm has failed: a request that ends with the error, null if all are
  // outstanding, or the error if test() has reported it.
  [[gnu::cold]] Result<transport::Request*> after_failure();

  // --- engine's side
  // Returns the oldest that was posted and not popped; null if there is none.
  [[nodiscard]] Request* posted() const TF_IN_TURN {
    Request* const* next = posted_.front();
    return next == nullptr ? nullptr : *next;
  }
  void pop() TF_IN_TURN { posted_.pop(); }

  Failure failure;

 private:
  static constexpr std::size_t kTogether = 8;
  static_assert(transport::kMaxRequests % kTogether == 0);
  // Makes further ones. Returns false if there are as many as there may be.
  [[gnu::cold]] bool grow();

  engine::Progress* progress_;
  std::vector<std::unique_ptr<std::array<Request, kTogether>>> requests_;
  Request* free_ = nullptr;  // the one that was released last; its next_free_ the one before it
  SpscRing<Request*, transport::kMaxRequests> posted_;
};

}  // namespace tfabric::comm
