// Makes received data visible to GPUs by reading from each buffer through a queue pair that is connected to
// itself. On the PCIe bus, a read pushes earlier writes of the same HCA to the GPU's memory, so it is done on
// each rail. The bytes read are not used.
//
// A flush that finds no room waits in order. It is never refused with "not now", because NCCL would take that
// for completion.
#pragma once

#include <array>
#include <cstdint>
#include <span>

#include "transport/rdma/lane/comm_core.h"
#include "transport/rdma/lane/work_queues.h"

namespace tfabric::rdma {

struct FlushRequest final : PooledRequest<FlushRequest> {
  void release_memory() override;

  struct Place {
    std::uint64_t address = 0;
    Region* region = nullptr;
  };
  std::array<Place, transport::kMaxGroupedReceives> places;
  std::uint32_t count = 0;
  std::uint32_t rails_staged = 0;
};

class Flusher {
 public:
  explicit Flusher(CommCore& comm) : requests_(comm) {}

  // Returns whether any of these buffers needs a flush.
  [[nodiscard]] static bool concerns(std::span<const transport::ReceiveBuffer> buffers);
  // Returns null if too many flushes are outstanding.
  FlushRequest* add(std::span<const transport::ReceiveBuffer> buffers);

  [[nodiscard]] FlushRequest* next() { return backlog_.empty() ? nullptr : backlog_.front(); }
  void pop() { backlog_.pop(); }
  // Returns false if the rail's queue has not enough room now.
  static bool stage(const FlushRequest& request, std::size_t rail, const Endpoint& endpoint,
                    std::uint64_t flush_pad, SendQueue& queue);

 private:
  RequestPool<FlushRequest> requests_;
  FixedQueue<FlushRequest*, transport::kMaxRequests> backlog_;
};

}  // namespace tfabric::rdma
