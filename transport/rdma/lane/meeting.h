// How a comm is connected while it is already in use, and how it watches its peer.
//
// A comm exists before its ends are connected: NCCL gets the send comm as soon as the offer has been sent,
// and the receive comm with the answer. The rest of the meeting happens in the calls on the comm, and in the
// watcher's thread (OpenComms::join_all()). Until it is over, isend() returns "not now", and irecv() takes
// receives, which are announced afterwards. Used with the comm's turn.
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

  // Continues as far as possible without blocking, and connects `endpoint` if that has not been done. Returns
  // true once both ends can receive. An error is final.
  virtual Result<bool> join(Endpoint& endpoint, Instant now) = 0;
  // After the meeting: returns an error with the reason if the peer's rank has ended or given up.
  virtual Status watch(Instant now) = 0;
  // This end has failed: sends the reason to the peer if possible.
  virtual void give_up(const std::string& reason) = 0;
};

// Decides when to probe a silent peer.
//
// An end that waits for data or for an announcement has no work outstanding that could fail, so it would wait
// for a dead peer forever. After `silence` without a completion, each queue pair carries an empty write; if
// it is not acknowledged, it fails like any other after timeout and retries. The clock is read only once in
// kQuietTurns turns without a completion, so that it costs nothing on a busy comm.
class Heartbeat {
 public:
  static constexpr std::uint32_t kQuietTurns = 256;

  Heartbeat(Duration silence, Instant (*now)()) : silence_(silence), now_(now) {}

  void completed() {
    turns_ = 0;
    since_ = kNever;
  }
  // Call for a turn without a completion. Returns true if the peer must be probed now.
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
