#include "transport/tcp/stack/bottleneck.h"

#include <algorithm>
#include <catch2/catch.hpp>

#include "tests/unit/stack/scripted_peer.h"

using namespace tfabric;
using namespace tfabric::stack;
using namespace tfabric::stack::test;

namespace {

// A path that passes `rate` bytes a second, whatever is sent, and drops the rest: a policer without a queue.
struct Policed {
  // One round trip.
  void round() {
    const double seconds = 1e-9 * static_cast<double>(kRtt.count());
    const std::uint64_t wanted = model.pacing_rate() == 0 ? ~std::uint64_t{0} : model.pacing_rate();
    const auto paced = static_cast<std::uint64_t>(
        static_cast<double>(std::min<std::uint64_t>(wanted, 1ull << 40)) * seconds);
    const std::uint64_t sent = std::min(model.cwnd(), paced);
    until_loss += sent / kMss;
    const std::uint64_t by_chance = one_lost_of == 0 ? 0 : until_loss / one_lost_of * kMss;
    until_loss = one_lost_of == 0 ? 0 : until_loss % one_lost_of;
    const std::uint64_t passed =
        std::min(sent - by_chance, static_cast<std::uint64_t>(static_cast<double>(rate) * seconds));
    const std::uint64_t prior = delivered;
    delivered += passed;
    lost += sent - passed;
    total += sent;
    now += kRtt;
    model.on_ack({.now = now,
                  .acked = passed,
                  .delivered = passed,
                  .lost = sent - passed,
                  .delivered_total = delivered,
                  .in_flight = 0,
                  .srtt = kRtt,
                  .min_rtt = kRtt,
                  .rate = {.bytes = passed, .interval = kRtt, .prior_delivered = prior}});
  }
  static constexpr Duration kRtt = 1ms;
  std::uint64_t rate = 625'000'000;
  std::uint64_t one_lost_of = 0;  // segments, by chance
  std::uint64_t until_loss = 0;
  Bottleneck model{kMss, 10 * kMss};
  std::uint64_t delivered = 0, lost = 0, total = 0;
  Instant now{1h};
};

}  // namespace

TEST_CASE("the rate of the path is found in a dozen rounds") {
  Policed path;
  for (int i = 0; i < 12; ++i) {
    path.round();
  }
  REQUIRE(path.model.phase() != Bottleneck::Phase::startup);
  REQUIRE(path.model.bandwidth() > 600'000'000);
  REQUIRE(path.model.bandwidth() < 650'000'000);
}

TEST_CASE("a random loss in a small window does not end the search for the path's rate") {
  Policed path;
  path.one_lost_of = 100;
  path.until_loss = 95;  // one of the first ten
  for (int i = 0; i < 12; ++i) {
    path.round();
  }
  REQUIRE(path.model.bandwidth() > 600'000'000);
  REQUIRE(path.model.bandwidth() < 650'000'000);
}

TEST_CASE("where asking for more is answered by losses, it asks seldom") {
  Policed path;
  for (int i = 0; i < 300; ++i) {
    path.round();
  }
  path.lost = path.total = path.delivered = 0;
  const Instant from = path.now;
  for (int i = 0; i < 1000; ++i) {
    path.round();
  }
  const double seconds = 1e-9 * static_cast<double>((path.now - from).count());
  REQUIRE(static_cast<double>(path.delivered) > 0.9 * 625e6 * seconds);
  REQUIRE(static_cast<double>(path.lost) < 0.01 * static_cast<double>(path.total));
}

TEST_CASE("a path that has become faster is noticed, and one that has become slower too") {
  Policed path;
  for (int i = 0; i < 50; ++i) {
    path.round();
  }
  path.rate = 1'250'000'000;
  for (int i = 0; i < 400; ++i) {
    path.round();
  }
  REQUIRE(path.model.bandwidth() > 1'150'000'000);
  path.rate = 300'000'000;
  for (int i = 0; i < 5; ++i) {
    path.round();
  }
  REQUIRE(path.model.bandwidth() < 1'000'000'000);
  for (int i = 0; i < 20; ++i) {
    path.round();
  }
  REQUIRE(path.model.bandwidth() < 350'000'000);
}

TEST_CASE("one loss says nothing, a time-out is careful, and both can be undone") {
  Policed path;
  for (int i = 0; i < 30; ++i) {
    path.round();
  }
  const std::uint64_t cwnd = path.model.cwnd(), rate = path.model.pacing_rate();
  path.model.on_loss(100 * kMss);
  REQUIRE(path.model.cwnd() == cwnd);
  path.model.on_rto(100 * kMss, /*repeated=*/false);
  REQUIRE(path.model.cwnd() == kMss);
  REQUIRE(path.model.pacing_rate() == rate);
  path.model.on_undo();
  REQUIRE(path.model.cwnd() == cwnd);
}

TEST_CASE("an application that sends little is not slowed down by what it has sent") {
  Bottleneck model(kMss, 10 * kMss);
  for (std::uint64_t i = 1; i < 100; ++i) {
    model.on_ack(
        {.acked = 10,
         .delivered = 10,
         .delivered_total = 10 * i,
         .srtt = 50ms,
         .min_rtt = 50ms,
         .rate = {.bytes = 10, .interval = 50ms, .app_limited = true, .prior_delivered = 10 * i - 10}});
    REQUIRE(model.pacing_rate() > 4 * kMss * 19);
  }
}

TEST_CASE("losses that only the reordering timer has found reach the model") {
  Options options = ScriptedPeer::plain();
  options.sack = true;
  options.congestion = CongestionAlgorithm::bottleneck;
  ScriptedPeer peer(options);
  peer.establish();
  peer.write(1000);
  peer.sent();
  peer.advance(20ms);
  peer.acknowledge(1000);
  REQUIRE(peer.connection().info().pacing_rate > 400'000);  // ten segments in 20 ms at least: startup
  peer.write(2000);
  peer.sent();
  peer.run(5ms);  // the second one is paced
  peer.advance(17ms);
  peer.report(1000, {{2000, 3000}});
  REQUIRE(peer.sent().empty());
  REQUIRE_FALSE(peer.run(6ms).empty());
  REQUIRE(peer.connection().info().fast_retransmits == 1);
  peer.advance(20ms);
  peer.acknowledge(3000);
  REQUIRE(peer.connection().info().pacing_rate < 400'000);
}
