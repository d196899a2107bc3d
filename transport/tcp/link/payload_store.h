// Keeps received payload that cannot be placed yet: out of order, or for a receive that is not posted.
//
// A packet buffer whose payload fills much of it is kept as it is. A small payload, and every payload while
// too many buffers are kept, is copied to the heap, so that the receive pool cannot run out of buffers
// however long a receiver waits. The flows' receive windows bound the memory.
#pragma once

#include <cstdint>

#include "transport/tcp/stack/connection.h"

namespace tfabric::link {

class PayloadStore {
 public:
  // At most `max_packets` packet buffers are kept.
  explicit PayloadStore(std::uint32_t max_packets) : max_packets_(max_packets) {}
  ~PayloadStore();
  PayloadStore(const PayloadStore&) = delete;
  PayloadStore& operator=(const PayloadStore&) = delete;

  // The functions for the machines. The owner of an incoming payload is its rte_mbuf, which retain() takes
  // over.
  [[nodiscard]] stack::PayloadOps ops();

  [[nodiscard]] std::uint32_t packets() const { return packets_; }
  [[nodiscard]] std::uint64_t heap_bytes() const { return heap_bytes_; }

 private:
  bool retain(stack::Payload& payload);
  void release(stack::Payload& payload);

  std::uint32_t max_packets_;
  std::uint32_t packets_ = 0;
  std::uint64_t heap_bytes_ = 0;
};

}  // namespace tfabric::link
