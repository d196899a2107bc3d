#include "transport/flows/flow_judge.h"

#include <catch2/catch.hpp>
#include <vector>

using namespace tfabric;
using namespace tfabric::flows;
using namespace std::chrono_literals;

namespace {

constexpr Duration kTick = 10ms;

FlowReading reading_of(std::uint64_t rate, Duration srtt = 200us) {
  return {.delivered = rate / 100, .busy = kTick, .limited = kTick, .srtt = srtt, .rate = rate};
}

struct Court {
  std::vector<FlowJudge::Sight> sights;
  FlowJudge judge;
  Instant now{std::chrono::hours(1)};
  std::vector<std::size_t> replaced{};

  void go(Duration duration) {
    for (const Instant end = now + duration; now < end; now += kTick) {
      if (const auto verdict = judge.on_readings(sights, now)) {
        replaced.push_back(verdict->flow.value);
      }
    }
  }
};

Court court_of(const std::vector<FlowReading>& readings) {
  Court court;
  for (std::size_t i = 0; i < readings.size(); ++i) {
    court.sights.push_back({{i}, readings[i]});
  }
  return court;
}

using Flows = std::vector<std::size_t>;

}  // namespace

TEST_CASE("a flow that delivers far less than the others is replaced, once") {
  Court court = court_of({reading_of(1000), reading_of(100), reading_of(900), reading_of(1100)});
  court.go(400ms);
  CHECK(court.replaced.empty());
  court.go(200ms);
  CHECK(court.replaced == Flows{1});
  court.sights[1].reading = reading_of(1000);  // the one that has taken its place
  court.go(10min);
  CHECK(court.replaced == Flows{1});
}

TEST_CASE("two good flows of four are enough to tell the bad ones") {
  Court court = court_of({reading_of(100), reading_of(1000), reading_of(90), reading_of(900)});
  court.go(600ms);
  CHECK(court.replaced == Flows{0});
  court.sights[0].reading = reading_of(1000);
  court.go(5s);
  CHECK(court.replaced == Flows{0, 2});
}

TEST_CASE("a flow with far longer round trips than the others is replaced") {
  Court court = court_of({reading_of(1000, 8ms), reading_of(1000), reading_of(1000)});
  court.go(1s);
  CHECK(court.replaced == Flows{0});
}

TEST_CASE("what is bad for all, or a matter of luck, stays") {
  SECTION("all alike") {
    Court court = court_of({reading_of(10, 50ms), reading_of(12, 60ms), reading_of(9, 40ms)});
    court.go(10min);
    CHECK(court.replaced.empty());
  }
  SECTION("half of the others' rate") {
    Court court = court_of({reading_of(1000), reading_of(450), reading_of(1000)});
    court.go(10min);
    CHECK(court.replaced.empty());
  }
  SECTION("a single flow") {
    Court court = court_of({reading_of(1)});
    court.go(10min);
    CHECK(court.replaced.empty());
  }
  SECTION("a bad moment now and then") {
    Court court = court_of({reading_of(1000), reading_of(1000)});
    for (int i = 0; i < 100; ++i) {
      court.sights[1].reading = reading_of(100);
      court.go(300ms);
      court.sights[1].reading = reading_of(1000);
      court.go(100ms);
    }
    CHECK(court.replaced.empty());
  }
  SECTION("the application has given it, or the others, little") {
    Court court = court_of({reading_of(1000), reading_of(100, 5ms)});
    court.sights[GENERATE(0u, 1u)].reading.limited = {};
    court.go(10min);
    CHECK(court.replaced.empty());
  }
}

TEST_CASE("a slow flow that is used only now and then is found out all the same") {
  Court court = court_of({reading_of(1000), reading_of(100)});
  for (int i = 0; i < 10; ++i) {
    court.sights[1].reading.limited = kTick;
    court.go(20ms);
    court.sights[1].reading.limited = {};
    court.go(200ms);
  }
  CHECK(court.replaced.size() == 1);
}

TEST_CASE("time-outs in a row are enough, also of a single flow") {
  Court court = court_of({reading_of(1000)});
  court.sights[0].reading.timeouts_in_row = 1;
  court.go(1s);
  CHECK(court.replaced.empty());
  court.sights[0].reading.timeouts_in_row = 2;
  court.go(10ms);
  CHECK(court.replaced == Flows{0});
}

TEST_CASE("paths that stay bad are replaced ever more rarely") {
  Court court = court_of({reading_of(1000), reading_of(100)});
  court.go(1h);
  CHECK(court.replaced.size() >= 8);
  CHECK(court.replaced.size() <= 20);
}

namespace {

// A connection, as its meter sees it.
struct Metered {
  FlowMeter meter;
  lane::Meters meters;
  Instant now{1h};

  FlowReading pass(std::uint64_t bytes, Duration busy, Duration limited, Duration length = 10ms) {
    meters.delivered += bytes;
    meters.busy += busy;
    meters.network_limited += limited;
    now += length;
    return meter.read(meters, now);
  }
};

}  // namespace

TEST_CASE("a flow's rate follows what the network gives, not what the application lacks") {
  Metered flow;
  CHECK(flow.pass(56, 10ms, 0ms).rate == 0);  // a hello tells nothing
  CHECK(flow.pass(10'000'000, 10ms, 10ms).rate == 1'000'000'000);
  CHECK(flow.pass(1000, 10ms, 0ms).rate == 1'000'000'000);
  CHECK(flow.pass(0, 0ms, 0ms).rate == 1'000'000'000);
  CHECK(flow.pass(5'000'000, 10ms, 8ms).rate == 875'000'000);
  for (int i = 0; i < 100; ++i) {
    flow.pass(0, 10ms, 10ms);
  }
  CHECK(flow.pass(0, 0ms, 0ms).rate > 0);  // stuck is not unknown
  CHECK(flow.pass(0, 0ms, 0ms).rate < 10);
  flow.meters.timeouts += 3;
  CHECK(flow.pass(0, 10ms, 10ms).timeouts_in_row == 3);
  CHECK(flow.pass(1, 10ms, 10ms).timeouts_in_row == 0);
}

TEST_CASE("what a flow delivers without a limit is a lower bound, for some seconds or until there is one") {
  Metered flow;
  CHECK(flow.pass(10'000'000, 10ms, 0ms).rate == 1'000'000'000);
  CHECK(flow.pass(100'000, 5ms, 0ms).rate > 990'000'000);
  SECTION("it falls to what comes while bytes are on their way nearly all the time, and rises at once") {
    CHECK(flow.pass(1'000'000, 8ms, 0ms).rate == Approx(775'000'000).epsilon(0.01));
    for (int i = 0; i < 40; ++i) {
      flow.pass(1'000'000, 10ms, 0ms);
    }
    CHECK(flow.pass(1'000'000, 10ms, 0ms).rate == Approx(100'000'000).epsilon(0.01));
    CHECK(flow.pass(56, 10ms, 0ms).rate > 99'000'000);  // a report, or a small message, tells nothing
    CHECK(flow.pass(5'000'000, 10ms, 0ms).rate == 500'000'000);
  }
  SECTION("it is worth half as much with each second") {
    CHECK(flow.pass(100'000, 10ms, 0ms, 1s).rate == Approx(496'000'000).epsilon(0.01));
    CHECK(flow.pass(20'000'000, 10ms, 0ms, 1s).rate == 2'000'000'000);
    for (int i = 0; i < 40; ++i) {
      flow.pass(0, 0ms, 0ms, 1s);
    }
    CHECK(flow.pass(0, 0ms, 0ms).rate == 0);  // not known any more
  }
  SECTION("a measured rate replaces it, and is what remains") {
    CHECK(flow.pass(1'000'000, 10ms, 9ms).rate == 100'000'000);
    CHECK(flow.pass(10'000'000, 10ms, 0ms).rate == 1'000'000'000);
    flow.pass(0, 0ms, 0ms, 20s);
    CHECK(flow.pass(0, 0ms, 0ms).rate == 100'000'000);
  }
}

TEST_CASE("a flow of known rate that is not used is to be probed, and shows whether it has recovered") {
  Metered flow;
  CHECK_FALSE(flow.pass(0, 0ms, 0ms, 1s).unused);  // nothing is known that could have changed
  flow.pass(100'000, 10ms, 10ms);
  CHECK_FALSE(flow.pass(0, 0ms, 0ms, 290ms).unused);
  CHECK(flow.pass(0, 0ms, 0ms).unused);
  const FlowReading same = flow.pass(16'384, 2ms, 0ms);
  CHECK_FALSE(same.unused);
  CHECK_FALSE(same.recovered);
  CHECK(same.rate == 10'000'000);
  const FlowReading more = flow.pass(16'384, 100us, 0ms);
  CHECK(more.recovered);
  CHECK(more.rate == 163'840'000);
}
