#include "transport/tcp/stack/rtt.h"

#include <catch2/catch.hpp>

using namespace tfabric;
using namespace tfabric::stack;
using namespace std::chrono_literals;

TEST_CASE("RFC 6298: the first sample sets SRTT to R and RTTVAR to R/2") {
  RttEstimator rtt(1s, 1ms, 60s);
  REQUIRE(rtt.rto() == 1s);
  REQUIRE_FALSE(rtt.has_sample());
  rtt.on_sample(100ms);
  REQUIRE(rtt.srtt() == 100ms);
  REQUIRE(rtt.rttvar() == 50ms);
  REQUIRE(rtt.rto() == 300ms);
}

TEST_CASE("RFC 6298: later samples weigh an eighth in SRTT and a quarter in RTTVAR") {
  RttEstimator rtt(1s, 1ms, 60s);
  rtt.on_sample(100ms);
  rtt.on_sample(180ms);
  REQUIRE(rtt.rttvar() == 57500us);  // 3/4 * 50 + 1/4 * 80
  REQUIRE(rtt.srtt() == 110ms);      // 7/8 * 100 + 1/8 * 180
  REQUIRE(rtt.rto() == 340ms);
}

TEST_CASE("RFC 6298: the time-out is above the smoothed time by the granularity at least") {
  RttEstimator rtt(1s, 1ms, 60s, /*granularity=*/200ms);
  rtt.on_sample(100ms);
  REQUIRE(rtt.rto() == 300ms);
  rtt.on_sample(100ms);
  REQUIRE(rtt.rto() == 300ms);  // 4 * RTTVAR is 150 ms by now
  rtt.on_sample(600ms);
  REQUIRE(rtt.rto() > 500ms);
}

TEST_CASE("the time-out stays between its bounds") {
  RttEstimator rtt(1s, 5ms, 2s);
  for (int i = 0; i < 100; ++i) {
    rtt.on_sample(10us);
  }
  REQUIRE(rtt.rto() == 5ms);
  rtt.on_sample(10s);
  REQUIRE(rtt.rto() == 2s);
}

TEST_CASE("each expiry doubles the time-out up to the bound, a sample takes that back") {
  RttEstimator rtt(100ms, 5ms, 1s);
  rtt.back_off();
  REQUIRE(rtt.rto() == 200ms);
  rtt.back_off();
  REQUIRE(rtt.rto() == 400ms);
  for (int i = 0; i < 100; ++i) {
    rtt.back_off();
  }
  REQUIRE(rtt.rto() == 1s);
  SECTION("as does a new beginning") {
    rtt.reset_backoff();
    REQUIRE(rtt.rto() == 100ms);
  }
  rtt.on_sample(10ms);
  REQUIRE(rtt.rto() == 30ms);
}

TEST_CASE("a sample of no time at all is a sample") {
  RttEstimator rtt(100ms, 1ns, 1s);
  rtt.on_sample(0ns);
  REQUIRE(rtt.has_sample());
}

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
