#include "transport/tcp/stack/segment.h"

#include <catch2/catch.hpp>
#include <random>
#include <vector>

#include "base/seq.h"

using namespace tfabric;
using namespace tfabric::stack;

namespace {

std::vector<std::byte> header_with(const std::vector<unsigned>& options, std::size_t payload = 0) {
  SegmentOut out;
  out.source_port = 0x1234;
  out.destination_port = 0x5678;
  out.seq = Seq(0x9abcdef0);
  out.ack = Seq(0x0fedcba9);
  out.flags = flag::ack | flag::psh;
  out.window = 0xbeef;
  for (const unsigned byte : options) {
    out.options[out.option_size++] = static_cast<std::byte>(byte);
  }
  std::vector<std::byte> bytes(out.header_size() + payload);
  write_header(out, bytes.data());
  return bytes;
}

}  // namespace

TEST_CASE("a header is read as it was written") {
  const auto bytes = header_with({}, 7);
  const auto segment = parse_segment(bytes);
  REQUIRE(segment);
  REQUIRE(segment->source_port == 0x1234);
  REQUIRE(segment->destination_port == 0x5678);
  REQUIRE(segment->seq == Seq(0x9abcdef0));
  REQUIRE(segment->ack == Seq(0x0fedcba9));
  REQUIRE(segment->flags == (flag::ack | flag::psh));
  REQUIRE(segment->window == 0xbeef);
  REQUIRE(segment->payload.size == 7);
  REQUIRE(segment->payload.data == bytes.data() + 20);
  REQUIRE(segment->window_scale == -1);
  REQUIRE(segment->mss == 0);
  REQUIRE_FALSE(segment->has_timestamps);
}

TEST_CASE("all options of a SYN are read") {
  const auto segment =
      parse_segment(header_with({2, 4, 0x05, 0xb4, 4, 2, 8, 10, 1, 2, 3, 4, 5, 6, 7, 8, 1, 3, 3, 7}));
  REQUIRE(segment);
  REQUIRE(segment->mss == 1460);
  REQUIRE(segment->sack_permitted);
  REQUIRE(segment->has_timestamps);
  REQUIRE(segment->ts_val == 0x01020304);
  REQUIRE(segment->ts_ecr == 0x05060708);
  REQUIRE(segment->window_scale == 7);
}

TEST_CASE("SACK blocks are read, as many as fit") {
  const auto segment =
      parse_segment(header_with({1, 1, 5, 18, 0, 0, 0, 1, 0, 0, 0, 2, 0, 0, 0, 3, 0, 0, 0, 4}));
  REQUIRE(segment->sack_count == 2);
  REQUIRE(segment->sack[0] == SackBlock{Seq(1), Seq(2)});
  REQUIRE(segment->sack[1] == SackBlock{Seq(3), Seq(4)});
}

TEST_CASE("a window scale beyond 14 counts as 14") {
  REQUIRE(parse_segment(header_with({3, 3, 255, 0}))->window_scale == 14);
}

TEST_CASE("unknown options and known ones of a wrong length are skipped") {
  const auto segment = parse_segment(header_with({253, 5, 9, 9, 9, 2, 3, 1, 8, 3, 1, 3, 3, 2, 0, 0}));
  REQUIRE(segment);
  REQUIRE(segment->mss == 0);
  REQUIRE_FALSE(segment->has_timestamps);
  REQUIRE(segment->window_scale == 2);
}

TEST_CASE("nothing is read behind the end of the options") {
  REQUIRE(parse_segment(header_with({0, 2, 4, 5}))->mss == 0);
}

TEST_CASE("malformed lengths are refused") {
  const auto malformed = GENERATE(values<std::vector<unsigned>>({
      {1, 1, 1, 2},  // an option without its length
      {2, 0, 1, 1},  // a length less than its own two bytes
      {2, 1, 1, 1},
      {1, 1, 2, 4},  // an option that runs over the end
      {8, 10, 1, 1},
  }));
  REQUIRE_FALSE(parse_segment(header_with(malformed)));
}

TEST_CASE("a data offset below 20 bytes or beyond the end is refused") {
  auto bytes = header_with({});
  for (const unsigned offset : {0u, 4u, 6u, 15u}) {
    bytes[12] = static_cast<std::byte>(offset << 4);
    REQUIRE_FALSE(parse_segment(bytes));
  }
  bytes[12] = std::byte{0x50};
  REQUIRE(parse_segment(bytes));
  for (std::size_t size = 0; size < 20; ++size) {
    REQUIRE_FALSE(parse_segment(std::span(bytes).first(size)));
  }
}

TEST_CASE("no bytes whatever make the parser read beyond them") {
  const unsigned seed = GENERATE(1u, 2u, 3u);
  std::mt19937 random(seed);
  for (int i = 0; i < 20000; ++i) {
    // On the heap and of the exact size, for the address sanitizer.
    std::vector<std::byte> bytes(random() % 80);
    for (std::byte& byte : bytes) {
      byte = static_cast<std::byte>(random() % 4 == 0 ? random() % 12 : random());
    }
    if (const auto segment = parse_segment(bytes)) {
      REQUIRE(segment->payload.data + segment->payload.size == bytes.data() + bytes.size());
      REQUIRE(segment->sack_count <= kMaxSackBlocks);
    }
  }
}

TEST_CASE("sequence numbers compare across the wrap") {
  const std::uint32_t start = GENERATE(0u, 1u, 0x7ffffff0u, 0x80000000u, 0xfffffff0u, 0xffffffffu);
  const std::uint32_t distance = GENERATE(1u, 2u, 100u, 0x7fffffffu);
  const Seq a(start), b = a + distance;
  REQUIRE(a < b);
  REQUIRE(a <= b);
  REQUIRE(b > a);
  REQUIRE(b >= a);
  REQUIRE_FALSE(b < a);
  REQUIRE(a != b);
  REQUIRE(b - a == static_cast<std::int32_t>(distance));
  REQUIRE(a - b == -static_cast<std::int32_t>(distance));
  REQUIRE(b - distance == a);
  REQUIRE(max(a, b) == b);
  REQUIRE(min(b, a) == a);
}

TEST_CASE("a sequence number is neither before nor after itself") {
  const Seq a(0xffffffffu);
  REQUIRE(a <= a);
  REQUIRE(a >= a);
  REQUIRE_FALSE(a < a);
  REQUIRE_FALSE(a > a);
}
