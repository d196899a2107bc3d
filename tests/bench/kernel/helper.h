// A helper thread that moves the pieces of some of a comm's sockets, as NCCL's built-in Socket network
// has with NCCL_SOCKET_NTHREADS. It sleeps in poll(2) while the kernel has nothing to do for it.
#pragma once

#include <atomic>
#include <thread>
#include <vector>

#include "tests/bench/kernel/data_socket.h"

namespace tfabric::bench {

class Helper {
 public:
  // Borrows the sockets; sets `failed` when one of them dies.
  Helper(std::vector<DataSocket*> sockets, std::atomic<bool>& failed);
  ~Helper();  // stops and joins
  Helper(const Helper&) = delete;
  Helper& operator=(const Helper&) = delete;

  // Call after pushing to one of the sockets.
  void wake();

 private:
  void run();
  void sleep();

  std::vector<DataSocket*> sockets_;
  std::atomic<bool>& failed_;
  int event_fd_;
  std::atomic<bool> sleeping_{false};
  std::atomic<bool> stop_{false};
  std::thread thread_;
};

}  // namespace tfabric::bench
