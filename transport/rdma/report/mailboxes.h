// Which of thousands of sockets have something to read: one system call for all of them. Used by one thread
// at a time.
#pragma once

#include <array>
#include <cstddef>
#include <span>

#include "base/fork_guard.h"

namespace tfabric::rdma {

class Mailboxes {
 public:
  static constexpr std::size_t kAtOnce = 64;

  Mailboxes();
  // `owner` is what full() returns. Returns false if the kernel does not take it: it is to be looked at
  // without being asked, then.
  bool add(int descriptor, void* owner);
  // While the descriptor is open. One that was not added is ignored.
  void remove(int descriptor);
  // Returns the owners of those that can be read, or have ended; others the next time.
  [[nodiscard]] std::span<void* const> full();

 private:
  PrivateDescriptor epoll_;
  std::array<void*, kAtOnce> full_{};
};

}  // namespace tfabric::rdma
