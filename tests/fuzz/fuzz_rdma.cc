// Any bytes as what a peer says of its ports and queue pairs. The first byte chooses: an end of a pair, or
// a rail. What is read must be writable to the same bytes.
#include <cstring>
#include <vector>

#include "tests/fuzz/require.h"
#include "tests/unit/rdma/pairs/one_way.h"
#include "transport/rdma/pairs/block.h"
#include "transport/rdma/pairs/port_group.h"

using namespace tfabric;
using namespace tfabric::rdma;

namespace {

void try_pair(std::span<const std::byte> bytes) {
  if (const auto end = pairs::decode_end(bytes)) {
    const auto again = pairs::decode_end(pairs::encode(*end));
    TFABRIC_REQUIRE(again && again->queue_pair.number == end->queue_pair.number && again->key == end->key &&
                    again->memory == end->memory && again->port.gid == end->port.gid);
  }
}

void try_rail(std::span<const std::byte> bytes) {
  test::OneWay way({}, {.hca = "mlx5_0"});
  pairs::PortGroup group({});
  group.add({.ways = &way});
  std::vector<std::vector<std::byte>> texts{{bytes.begin(), bytes.end()}, group.describe(0)};
  if (const auto meeting = group.meet(texts)) {
    TFABRIC_REQUIRE(meeting->size() == 1 && (!meeting->front() || meeting->front()->theirs < texts.size()));
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) {
    return 0;
  }
  const std::span<const std::byte> rest = std::as_bytes(std::span(data, size)).subspan(1);
  if (data[0] % 2 == 1) {
    try_pair(rest);
  } else {
    try_rail(rest);
  }
  return 0;
}
