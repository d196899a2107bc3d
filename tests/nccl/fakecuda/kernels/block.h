// One thread block of a kernel: one channel of the communicator, carried out by one thread.
#pragma once

#include <sched.h>
#include <unistd.h>

#include <atomic>
#include <cstddef>

#include "tests/nccl/fakecuda/kernels/layout.h"

namespace fakecuda::kernels {

// Thrown out of a wait when the application aborts the communicator; ends the block.
struct Aborted {};

struct Block {
  Comm comm;
  Channel channel;
  int channel_id = 0;

  [[nodiscard]] Peer& peer(int rank) const { return *channel.peers[rank]; }

  // Waits like a GPU, without blocking, but yields the CPU to the network, since there are few CPUs.
  template <class Ready>
  void wait_until(Ready ready) const {
    for (unsigned turns = 0; !ready(); ++turns) {
      if (turns < 200) {
        sched_yield();
      } else {
        usleep(turns < 2000 ? 20 : 200);
      }
      if ((turns & 63) == 63 && comm.abort_flag != nullptr && *comm.abort_flag != 0) {
        throw Aborted();
      }
    }
  }
};

// Fields that the proxy thread reads and writes meanwhile.
template <class T>
T load_acquire(T& field) {
  return std::atomic_ref(field).load(std::memory_order_acquire);
}
template <class T>
void store_release(T& field, T value) {
  std::atomic_ref(field).store(value, std::memory_order_release);
}

}  // namespace fakecuda::kernels
