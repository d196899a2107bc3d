// How the two ends of a comm meet, as far as the comm itself has to do with it.
//
// A comm is there before its ends are connected: NCCL gets its send comm as soon as the offer has left, and
// its receive comm with the answer. The rest happens in whatever is called on the comm, and in what others do
// for it meanwhile (OpenComms::join_all()). Until then isend() says "not now", and irecv() takes receives
// that are announced afterwards. Used by whoever has the comm's turn.
#pragma once

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

}  // namespace tfabric::rdma
