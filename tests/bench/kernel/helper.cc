#include "tests/bench/kernel/helper.h"

#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <cstdint>
#include <utility>

namespace tfabric::bench {

Helper::Helper(std::vector<DataSocket*> sockets, std::atomic<bool>& failed)
    : sockets_(std::move(sockets)),
      failed_(failed),
      event_fd_(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)),
      thread_([this] { run(); }) {}

Helper::~Helper() {
  stop_.store(true);
  const std::uint64_t one = 1;
  static_cast<void>(!write(event_fd_, &one, sizeof one));
  thread_.join();
  close(event_fd_);
}

void Helper::wake() {
  // Sequentially consistent with the flag and the re-check in sleep(): one side always sees the other.
  std::atomic_thread_fence(std::memory_order_seq_cst);
  if (!sleeping_.load(std::memory_order_relaxed)) return;
  const std::uint64_t one = 1;
  static_cast<void>(!write(event_fd_, &one, sizeof one));
}

void Helper::sleep() {
  std::vector<pollfd> waiting = {{event_fd_, POLLIN, 0}};
  sleeping_.store(true, std::memory_order_relaxed);
  std::atomic_thread_fence(std::memory_order_seq_cst);
  for (const auto* socket : sockets_) {
    if (socket->idle()) continue;
    waiting.push_back({socket->fd(), static_cast<short>(socket->sending() ? POLLOUT : POLLIN), 0});
  }
  if (!stop_.load()) poll(waiting.data(), waiting.size(), -1);
  sleeping_.store(false, std::memory_order_relaxed);
  std::uint64_t ignored = 0;
  static_cast<void>(!read(event_fd_, &ignored, sizeof ignored));
}

void Helper::run() {
  while (!stop_.load(std::memory_order_relaxed)) {
    bool moved = false;
    for (auto* socket : sockets_) {
      const auto outcome = socket->progress();
      if (outcome == DataSocket::Outcome::failed) {
        failed_.store(true);
        return;
      }
      moved = moved || outcome == DataSocket::Outcome::moved;
    }
    if (!moved) sleep();
  }
}

}  // namespace tfabric::bench
