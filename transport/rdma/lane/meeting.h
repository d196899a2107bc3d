// How the two ends of a comm meet, as far as the comm itself has to do with it.
//
// A comm is there before its ends are connected: NCCL gets its send comm as soon as the offer has left, and
// its receive comm with the answer. The rest happens in whatever is called on the comm, and in what others do
// for it meanwhile (OpenComms::join_all()). Until then isend() says "not now", and irecv() takes receives
// that are announced afterwards. Used by whoever has the comm's turn.
#pragma once

#include <cstdint>
#include <string>

#include "base/result.h"
#include "base/time.h"

namespace tfabric::rdma {

class Endpoint;

class Meeting {
 public:
  Meeting() = default;
  Meeting(const Meeting&) = delete;
  Meeting& operator=(const Meeting&) = delete;
  virtual ~Meeting() = default;

  // Goes on as far as it can, without blocking, and connects `endpoint` if nobody has. True: both ends can
  // receive. An error is final.
  virtual Result<bool> join(Endpoint& endpoint, Instant now) = 0;
  // After that. An error: the peer's rank is gone, or has given up, and why.
  virtual Status watch(Instant now) = 0;
  // This end has failed: the peer is told why, if it can be.
  virtual void give_up(const std::string& reason) = 0;
};

// When to ask a silent peer whether it is still there.
//
// Who waits for data, or for an announcement, has nothing under way that could fail, and would wait for ever
// for a peer that has died. After `silence` without a completion each queue pair is asked to carry an empty
// write: if nobody acknowledges it, it fails as any other (after timeout and retries). The clock is read only
// once in kQuietTurns turns that found nothing, so that it costs nothing where something happens.

class Heartbeat {
 public:
  static constexpr std::uint32_t kQuietTurns = 256;

  Heartbeat(Duration silence, Instant (*now)()) : silence_(silence), now_(now) {}

  void heard() {
    turns_ = 0;
    since_ = kNever;
  }
  // A turn that found nothing. True: ask now.
  bool quiet_turn() {
    if (++turns_ < kQuietTurns) {
      return false;
    }
    turns_ = 0;
    const Instant now = now_();
    if (since_ == kNever) {
      since_ = now;
    }
    if (now - since_ < silence_) {
      return false;
    }
    since_ = now;
    return true;
  }

 private:
  Duration silence_;
  Instant (*now_)();
  std::uint32_t turns_ = 0;
  Instant since_ = kNever;
};

}  // namespace tfabric::rdma
