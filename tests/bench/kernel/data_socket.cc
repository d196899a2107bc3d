#include "tests/bench/kernel/data_socket.h"

#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>

namespace tfabric::bench {

DataSocket::~DataSocket() { close(fd_); }

void DataSocket::push(std::byte* data, std::size_t size, std::atomic<std::uint32_t>* left) {
  const auto tail = tail_.load(std::memory_order_relaxed);
  pieces_[tail % kMaxRequests] = {data, size, left};
  tail_.store(tail + 1, std::memory_order_release);
}

DataSocket::Outcome DataSocket::progress() {
  auto outcome = Outcome::nothing;
  while (!idle()) {
    const auto head = head_.load(std::memory_order_relaxed);
    Piece& piece = pieces_[head % kMaxRequests];
    const ssize_t n = sending_ ? send(fd_, piece.data, piece.size, MSG_DONTWAIT | MSG_NOSIGNAL)
                               : recv(fd_, piece.data, piece.size, MSG_DONTWAIT);
    if (n < 0 && (errno == EAGAIN || errno == EINTR)) return outcome;
    if (n <= 0) return Outcome::failed;
    outcome = Outcome::moved;
    piece.data += n;
    piece.size -= static_cast<std::size_t>(n);
    if (piece.size > 0) continue;
    auto* const left = piece.left;
    head_.store(head + 1, std::memory_order_release);
    left->fetch_sub(1, std::memory_order_release);
  }
  return outcome;
}

}  // namespace tfabric::bench
