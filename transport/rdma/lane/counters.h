// What comms have done, for the log and for measuring what a message costs.
#pragma once

#include <cstdint>

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

}  // namespace tfabric::rdma
