// Makes what was received visible to GPUs: reads from each buffer over a queue pair that is connected with
// itself. On the PCIe bus the read pushes the writes before it, of the same HCA, to the GPU's memory; so it
// is done on each rail. The bytes read mean nothing.
//
// A flush that finds no room waits in order; it is never refused, since NCCL takes that for done.
#pragma once

#include <array>
#include <cstdint>
#include <span>

#include "transport/rdma/lane/comm_core.h"
#include "transport/rdma/lane/work_queues.h"

namespace tfabric::rdma {

struct FlushRequest final : PooledRequest<FlushRequest> {
  void let_go() override;

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

  // Whether any of these buffers is in memory that a flush is for.
  [[nodiscard]] static bool concerns(std::span<const transport::ReceiveBuffer> buffers);
  // Null: too many are outstanding.
  FlushRequest* add(std::span<const transport::ReceiveBuffer> buffers);

  [[nodiscard]] FlushRequest* next() { return backlog_.empty() ? nullptr : backlog_.front(); }
  void pop() { backlog_.pop(); }
  // False: there is not enough room on that rail's queue now.
  static bool stage(const FlushRequest& request, std::size_t rail, const Endpoint& endpoint,
                    std::uint64_t flush_pad, SendQueue& queue);

 private:
  RequestPool<FlushRequest> requests_;
  FixedQueue<FlushRequest*, transport::kMaxRequests> backlog_;
};

}  // namespace tfabric::rdma
