// The planner over networks of a line each, in virtual time.
#include "transport/flows/flow_planner.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <functional>
#include <vector>

#include "base/random.h"

using namespace tfabric;
using namespace tfabric::flows;
using namespace std::chrono_literals;

namespace {

constexpr double kGbit = 1e9 / 8;

// A comm that always has something to send over a network that gives `rate(flows)` bytes a second.
struct Run {
  std::function<double(std::uint32_t)> rate;
  FlowPlanner planner{{.first = 1, .most = 16}};
  Instant now{};
  double noise = 0;  // the most by which a sample is off, as a share
  SeededRandom random{1};
  std::uint32_t comms = 1;
  bool network_limited = true;
  std::vector<std::uint32_t> history{};  // of settled numbers

  void go(Duration duration) {
    constexpr Duration kTick = 10ms;
    for (const Instant end = now + duration; now < end; now += kTick) {
      const double off = noise * (static_cast<double>(random.between(std::uint64_t{0}, 2000u)) / 1000 - 1);
      planner.on_sample({.busy = kTick,
                         .delivered = static_cast<std::uint64_t>(rate(planner.flows()) * (1 + off) * 0.01),
                         .comms = comms,
                         .network_limited = network_limited},
                        now);
      if (const auto decision = planner.take_decision()) {
        history.push_back(decision->after);
      }
    }
  }
};

// Each flow is limited, and so is the rail.
auto capped(double flow, double rail) {
  return [=](std::uint32_t flows) { return std::min(flow * flows, rail) * kGbit; };
}

}  // namespace

TEST_CASE("a rail of 25 Gbit/s with 5 for each flow gets five flows, and keeps them") {
  Run run{capped(5, 25)};
  run.go(5s);
  CHECK(run.planner.flows() == 5);
  run.go(30min);
  CHECK(run.planner.flows() == 5);
  CHECK(run.history == std::vector<std::uint32_t>{5});
}

TEST_CASE("the fewest flows that fill the rail are found") {
  const auto [flow, rail, wanted] =
      GENERATE(table<double, double, std::uint32_t>({{5, 10, 2}, {5, 15, 3}, {5, 20, 4}, {10, 100, 10}}));
  INFO(flow << " of " << rail);
  Run run{capped(flow, rail)};
  run.go(10s);
  CHECK(run.planner.flows() == wanted);
}

TEST_CASE("what one flow fills keeps one flow") {
  Run run{capped(10, 10)};
  run.go(10min);
  CHECK(run.planner.flows() == 1);
  CHECK(run.history.empty());
  // Tried at once, and then after 1, 2, 4 minutes and so on.
  CHECK(run.planner.searches() <= 4);
}

TEST_CASE("never more flows than allowed are used") {
  Run run{capped(1, 100)};
  run.go(20s);
  CHECK(run.planner.flows() == 16);
  CHECK(run.planner.keep() == 16);
}

TEST_CASE("noise makes it neither climb nor oscillate") {
  const auto seed = GENERATE(range(1, 21));
  INFO("seed " << seed);
  Run shared{capped(10, 10)};
  shared.noise = 0.5;
  shared.random = SeededRandom(static_cast<std::uint64_t>(seed));
  shared.go(30min);
  CHECK(shared.planner.flows() <= 2);
  CHECK(shared.history.size() <= 2);
  Run limited{capped(5, 25)};
  limited.noise = 0.3;
  limited.random = SeededRandom(static_cast<std::uint64_t>(seed));
  limited.go(30min);
  CHECK(limited.planner.flows() >= 4);
  CHECK(limited.planner.flows() <= 7);
  CHECK(limited.history.size() <= 4);
}

TEST_CASE("flows that are slow to find their rate are looked at again") {
  std::uint32_t flows_now = 1;
  std::uint32_t samples = 0;
  Run run{[&](std::uint32_t flows) {
    samples = flows == flows_now ? samples + 1 : 0;
    flows_now = flows;
    // For as long as a first look takes.
    const double off = flows <= 2 || samples > 22 ? 0 : samples % 2 == 0 ? 0.47 : -0.47;
    return capped(5, 25)(flows) * (1 + off);
  }};
  run.go(5s);
  CHECK(run.planner.flows() == 5);
}

TEST_CASE("a limit that changes is noticed") {
  Run run{capped(5, 25)};
  run.go(10s);
  REQUIRE(run.planner.flows() == 5);
  run.rate = capped(2.5, 25);  // the sum falls: looked into within seconds
  run.go(10s);
  CHECK(run.planner.flows() == 10);
  run.rate = capped(25, 25);  // the sum stays: found out when it is tried again
  run.go(2min);
  CHECK(run.planner.flows() == 1);
}

TEST_CASE("while the application or the peer is what limits, nothing is tried") {
  Run run{capped(5, 25)};
  run.network_limited = false;
  run.go(10min);
  CHECK(run.planner.flows() == 1);
  CHECK(run.planner.searches() == 0);
  run.network_limited = true;
  run.go(5s);
  CHECK(run.planner.flows() == 5);
}

TEST_CASE("rates of different numbers of comms are not compared") {
  Run run{capped(10, 10)};
  double share = 1;
  run.rate = [&](std::uint32_t) { return share * kGbit; };
  run.go(180ms);  // into the first trial
  REQUIRE(run.planner.searching());
  run.comms = 4;
  share = 4;  // not the second flow's merit
  run.go(2s);
  CHECK(run.planner.flows() == 1);
}

TEST_CASE("a trial that cannot end is given up") {
  Run run{capped(5, 25)};
  run.go(170ms);
  REQUIRE(run.planner.searching());
  REQUIRE(run.planner.flows() == 2);
  // Its flows cannot be opened.
  for (int i = 0; i < 7000; ++i) {
    run.now += 10ms;
    run.planner.on_sample(
        {.busy = 10ms, .delivered = 1000, .comms = 1, .network_limited = true, .ready = false}, run.now);
  }
  CHECK_FALSE(run.planner.searching());
  CHECK(run.planner.flows() == 1);
}
