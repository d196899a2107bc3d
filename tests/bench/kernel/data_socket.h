// One kernel TCP socket that moves pieces of messages in order, one way.
//
// The comm's polling thread pushes pieces; the owner of the socket (the same thread, or one helper)
// progresses it. Single producer, single consumer, no lock.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

namespace tfabric::bench {

// Requests a comm may have outstanding, and so pieces on one socket: a message has at most one piece on
// each socket. NCCL's NCCL_NET_MAX_REQUESTS.
inline constexpr std::size_t kMaxRequests = 32;

class DataSocket {
 public:
  DataSocket(int fd, bool sending) : fd_(fd), sending_(sending) {}
  ~DataSocket();
  DataSocket(const DataSocket&) = delete;
  DataSocket& operator=(const DataSocket&) = delete;

  // `left` is decremented once the piece has been moved.
  void push(std::byte* data, std::size_t size, std::atomic<std::uint32_t>* left);
  [[nodiscard]] bool idle() const {
    return head_.load(std::memory_order_acquire) == tail_.load(std::memory_order_acquire);
  }
  enum class Outcome : std::uint8_t { nothing, moved, failed };
  // Moves what the kernel takes or has. After `failed` the socket is dead.
  Outcome progress();
  [[nodiscard]] int fd() const { return fd_; }
  [[nodiscard]] bool sending() const { return sending_; }

 private:
  struct Piece {
    std::byte* data = nullptr;
    std::size_t size = 0;
    std::atomic<std::uint32_t>* left = nullptr;
  };
  int fd_;
  bool sending_;
  std::array<Piece, kMaxRequests> pieces_{};
  // On lines of their own, so that the two sides do not take them from each other.
  alignas(64) std::atomic<std::uint64_t> tail_{0};  // written by the producer
  alignas(64) std::atomic<std::uint64_t> head_{0};  // written by the consumer
};

}  // namespace tfabric::bench
