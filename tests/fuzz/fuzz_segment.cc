// Any bytes as a TCP segment: the parser must stay within them, and the answer to a segment without a
// connection must be readable for it.
#include <vector>

#include "tests/fuzz/require.h"
#include "transport/tcp/stack/connection.h"
#include "transport/tcp/stack/segment.h"

using namespace tfabric;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::span<const std::byte> bytes = std::as_bytes(std::span(data, size));
  const auto segment = stack::parse_segment(bytes);
  if (!segment) {
    return 0;
  }
  TFABRIC_REQUIRE(segment->payload.data + segment->payload.size == bytes.data() + bytes.size());
  TFABRIC_REQUIRE(segment->payload.size + stack::kTcpHeaderBytes <= size);
  TFABRIC_REQUIRE(segment->sack_count <= stack::kMaxSackBlocks);
  TFABRIC_REQUIRE(segment->window_scale >= -1 && segment->window_scale <= 14);
  if (const auto reset = stack::reset_for(*segment)) {
    std::vector<std::byte> answer(reset->header_size());
    stack::write_header(*reset, answer.data());
    const auto read = stack::parse_segment(answer);
    TFABRIC_REQUIRE(read && read->seq == reset->seq && read->ack == reset->ack &&
                    read->flags == reset->flags);
  }
  return 0;
}
