#include "transport/tcp/stack/delivery_rate.h"

#include <catch2/catch.hpp>

using namespace tfabric;
using namespace tfabric::stack;
using namespace std::chrono_literals;

namespace {

// Segments of a thousand bytes.
struct Sender {
  void send(int segments) {
    for (int i = 0; i < segments; ++i) {
      const bool idle = sent.empty();
      rate.on_sent(sent.add(end, 1000, now), idle, now);
      end += 1000;
    }
  }
  RateSample acknowledge(int segments) {
    for (int i = 0; i < segments; ++i) {
      rate.on_delivered(sent.at(sent.first()), 1000, now);
      sent.remove_first();
    }
    return rate.take(1ms);
  }
  SentSegments sent;
  DeliveryRate rate;
  std::uint64_t end = 0;
  Instant now{};
};

}  // namespace

TEST_CASE("a sample is what arrived over the time between a sending and its acknowledgement") {
  Sender sender;
  sender.send(10);
  sender.now += 10ms;
  const RateSample first = sender.acknowledge(5);
  REQUIRE(first.bytes == 5000);
  REQUIRE(first.interval == 10ms);
  REQUIRE(first.prior_delivered == 0);
  sender.now += 5ms;
  REQUIRE(sender.acknowledge(5).bytes == 10'000);
}

TEST_CASE("acknowledgements that come bunched together do not look like a fast path") {
  Sender sender;
  for (int i = 0; i < 10; ++i) {
    sender.send(1);
    sender.now += 1ms;
  }
  sender.now += 1ms;
  const RateSample sample = sender.acknowledge(10);
  REQUIRE(sample.bytes == 10'000);
  REQUIRE(sample.interval == 11ms);
}

TEST_CASE("a sample over less than the least round-trip time is none") {
  Sender sender;
  sender.send(1);
  sender.now += 500us;
  REQUIRE(sender.acknowledge(1).interval == Duration::zero());
}

TEST_CASE("what is sent while the application has nothing more is marked until it has arrived") {
  Sender sender;
  sender.send(2);
  sender.rate.set_app_limited(2000);
  sender.send(1);
  sender.now += 10ms;
  REQUIRE_FALSE(sender.acknowledge(2).app_limited);
  REQUIRE(sender.acknowledge(1).app_limited);
  sender.send(1);
  sender.now += 10ms;
  REQUIRE_FALSE(sender.acknowledge(1).app_limited);
}
