#include "transport/tcp/stack/min_rtt.h"

#include <catch2/catch.hpp>

using namespace tfabric;
using namespace tfabric::stack;
using namespace std::chrono_literals;

TEST_CASE("the least round-trip time holds for some seconds, and is forgotten when the path has changed") {
  MinRtt min_rtt;
  Instant now{1h};
  REQUIRE(min_rtt.value() == Duration::zero());
  min_rtt.on_sample(2ms, now);
  min_rtt.on_sample(1ms, now);
  min_rtt.on_sample(3ms, now);
  REQUIRE(min_rtt.value() == 1ms);
  min_rtt.on_sample(3ms, now + 6s);
  REQUIRE(min_rtt.value() == 1ms);
  min_rtt.on_sample(3ms, now + 12s);
  REQUIRE(min_rtt.value() == 3ms);
  min_rtt.on_sample(4ms, now + 60s);
  REQUIRE(min_rtt.value() == 4ms);
}
