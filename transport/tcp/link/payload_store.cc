#include "transport/tcp/link/payload_store.h"

#include <rte_mbuf.h>

#include <cassert>
#include <cstdlib>
#include <cstring>

namespace tfabric::link {
namespace {

// The lowest bit of the owner marks a block on the heap: both blocks and packet buffers are aligned.
constexpr std::size_t kHeapMark = 1;

struct HeapBlock {
  std::uint64_t size;
  std::byte bytes[];
};

bool is_heap(const void* owner) { return (reinterpret_cast<std::uintptr_t>(owner) & kHeapMark) != 0; }

HeapBlock* block_of(void* owner) {
  return reinterpret_cast<HeapBlock*>(static_cast<std::byte*>(owner) - kHeapMark);
}

// A payload that fills less than a quarter of its buffer is copied, to free the buffer.
bool fills_buffer(const stack::Payload& payload, const rte_mbuf& packet) {
  return payload.size >= packet.buf_len / 4u;
}

}  // namespace

PayloadStore::~PayloadStore() { assert(packets_ == 0 && heap_bytes_ == 0); }

stack::PayloadOps PayloadStore::ops() {
  return {.context = this,
          .retain = [](void* self,
                       stack::Payload& payload) { return static_cast<PayloadStore*>(self)->retain(payload); },
          .release = [](void* self,
                        stack::Payload& payload) { static_cast<PayloadStore*>(self)->release(payload); }};
}

bool PayloadStore::retain(stack::Payload& payload) {
  auto* packet = static_cast<rte_mbuf*>(payload.owner);
  if (packets_ < max_packets_ && fills_buffer(payload, *packet)) {
    ++packets_;
    return true;
  }
  auto* block = static_cast<HeapBlock*>(std::malloc(sizeof(HeapBlock) + payload.size));
  if (block == nullptr) {
    return false;
  }
  block->size = payload.size;
  heap_bytes_ += payload.size;
  std::memcpy(block->bytes, payload.data, payload.size);
  rte_pktmbuf_free(packet);
  payload.data = block->bytes;
  payload.owner = reinterpret_cast<std::byte*>(block) + kHeapMark;
  return true;
}

void PayloadStore::release(stack::Payload& payload) {
  if (is_heap(payload.owner)) {
    HeapBlock* block = block_of(payload.owner);
    heap_bytes_ -= block->size;
    std::free(block);
  } else {
    --packets_;
    rte_pktmbuf_free(static_cast<rte_mbuf*>(payload.owner));
  }
  payload.owner = nullptr;
}

}  // namespace tfabric::link
