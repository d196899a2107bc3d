#include "transport/tcp/link/payload_store.h"

#include <rte_mbuf.h>

#include <cstring>
#include <vector>

#include "tests/unit/nic/eal_fixture.h"
#include "transport/tcp/nic/pools.h"

namespace tfabric::link {
namespace {

stack::Payload packet_of(std::uint32_t size) {
  rte_mbuf* packet = rte_pktmbuf_alloc(*nic::header_pool());
  REQUIRE(packet != nullptr);
  char* bytes = rte_pktmbuf_append(packet, static_cast<std::uint16_t>(size));
  std::memset(bytes, 'x', size);
  return {.data = reinterpret_cast<const std::byte*>(bytes), .size = size, .owner = packet};
}

}  // namespace

TEST_CASE("large payloads keep their packet, small ones move to the heap, and so does what is too many") {
  nic::need_eal();
  PayloadStore store(2);
  const stack::PayloadOps ops = store.ops();
  std::vector<stack::Payload> kept;
  constexpr std::uint32_t full = nic::kHeaderRoom;
  for (const std::uint32_t size : {full, 10u, 1500u, full}) {
    kept.push_back(packet_of(size));
    const std::byte* before = kept.back().data;
    REQUIRE(ops.retain(ops.context, kept.back()));
    const bool moved = kept.back().data != before;
    CHECK(moved == (size == 10 || kept.size() == 4));
    CHECK(static_cast<char>(kept.back().data[size - 1]) == 'x');
  }
  CHECK(store.packets() == 2);
  CHECK(store.heap_bytes() == full + 10);
  for (stack::Payload& payload : kept) {
    ops.release(ops.context, payload);
  }
  CHECK(store.packets() == 0);
  CHECK(store.heap_bytes() == 0);
}

}  // namespace tfabric::link
