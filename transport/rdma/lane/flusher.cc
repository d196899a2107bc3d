#include "transport/rdma/lane/flusher.h"

#include <algorithm>

namespace tfabric::rdma {
namespace {

bool is_flushed(const transport::ReceiveBuffer& buffer) {
  return buffer.size > 0 && buffer.region != nullptr &&
         static_cast<const Region*>(buffer.region)->kind != transport::MemoryKind::host;
}

}  // namespace

void FlushRequest::release_memory() {
  for (std::uint32_t i = 0; i < count; ++i) {
    --places[i].region->uses;
  }
}

bool Flusher::concerns(std::span<const transport::ReceiveBuffer> buffers) {
  return std::any_of(buffers.begin(), buffers.end(), is_flushed);
}

FlushRequest* Flusher::add(std::span<const transport::ReceiveBuffer> buffers) {
  if (!requests_.any_free()) {
    return nullptr;
  }
  FlushRequest& request = requests_.acquire();
  request.count = 0;
  request.rails_staged = 0;
  for (const transport::ReceiveBuffer& buffer : buffers) {
    if (is_flushed(buffer)) {
      auto* region = static_cast<Region*>(buffer.region);
      ++region->uses;
      request.places[request.count++] = {.address = reinterpret_cast<std::uint64_t>(buffer.data),
                                         .region = region};
    }
  }
  backlog_.push(&request);
  return &request;
}

bool Flusher::stage(const FlushRequest& request, std::size_t rail, const Endpoint& endpoint,
                    std::uint64_t flush_pad, SendQueue& queue) {
  if (queue.room() < request.count) {
    return false;
  }
  for (std::uint32_t i = 0; i < request.count; ++i) {
    queue.stage({.opcode = IBV_WR_RDMA_READ,
                 .local = flush_pad,
                 .length = 1,
                 .lkey = endpoint.block_mr(rail).lkey,
                 .remote = request.places[i].address,
                 .rkey = request.places[i].region->leases[rail].mr->rkey});
  }
  return true;
}

}  // namespace tfabric::rdma
