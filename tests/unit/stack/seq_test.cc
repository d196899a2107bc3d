#include "transport/tcp/stack/seq.h"

#include <catch2/catch.hpp>

using namespace tfabric::stack;

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
