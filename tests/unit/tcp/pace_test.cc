#include "transport/flows/pace.h"

#include <catch2/catch.hpp>

#include "transport/device/rail_summary.h"

using namespace tfabric;
using namespace tfabric::device;
using namespace tfabric::flows;
using namespace std::chrono_literals;
using Catch::Contains;

namespace {

constexpr double kGigabit = 125e6;  // bytes a second

// A path and its sister, which are sampled and compared each so often.
struct Pair {
  Pace pace, sister;
  Duration length = 10ms;
  Instant now{1h};
  int changes = 0;
  bool limited = true;
  double waiting = 1, sister_waiting = 1, times = 1;  // waiting: the part of the time
  void run(double rate, double sister_rate, Duration time) {
    const auto sample = [&](double bytes_per_second, double part) {
      return PaceSample{.carried = static_cast<std::uint64_t>(bytes_per_second *
                                                              std::chrono::duration<double>(length).count()),
                        .length = length,
                        .waiting = std::chrono::duration_cast<Duration>(part * length),
                        .limited = limited};
    };
    for (const Instant end = now + time; now < end;) {
      now += length;
      const bool was_slow = pace.slow();
      pace.on_sample(sample(rate, waiting), now);
      sister.on_sample(sample(sister_rate, sister_waiting), now);
      pace.compare(sister, times, now);
      changes += pace.slow() != was_slow ? 1 : 0;
    }
  }
};

}  // namespace

TEST_CASE("a path is slow below a third of what is usual, and no more above half") {
  Pair path;
  path.run(kGigabit, kGigabit, 1s);
  path.run(0.4 * kGigabit, kGigabit, 2s);
  CHECK_FALSE(path.pace.slow());
  path.run(0.25 * kGigabit, kGigabit, 1s);
  CHECK(path.pace.slow());
  CHECK(path.pace.expected() == Approx(kGigabit).epsilon(0.15));  // it falls slowly
  path.run(0.4 * kGigabit, kGigabit, 1s);
  CHECK(path.pace.slow());
  path.run(0.9 * kGigabit, kGigabit, 1s);
  CHECK_FALSE(path.pace.slow());
  CHECK(path.changes == 2);
}

TEST_CASE("a path that is slow from the start is compared with its sister") {
  Pair path;
  SECTION("a tenth is slow, within a second") {
    path.run(0.1 * kGigabit, kGigabit, 600ms);
    CHECK(path.pace.slow());
    CHECK(path.pace.expected() == Approx(kGigabit).epsilon(0.02));
    path.run(0.1 * kGigabit, 0.1 * kGigabit, 1s);  // the sister has fallen as well
    CHECK_FALSE(path.pace.slow());
  }
  SECTION("a quarter is not: rails may differ") {
    path.run(0.25 * kGigabit, kGigabit, 1min);
    CHECK_FALSE(path.pace.slow());
  }
  SECTION("nor a tenth, of a rail that is said to be a tenth as fast") {
    path.times = 0.1;
    path.run(0.1 * kGigabit, kGigabit, 1min);
    CHECK_FALSE(path.pace.slow());
    path.run(0.01 * kGigabit, kGigabit, 2s);
    CHECK(path.pace.slow());
  }
}

TEST_CASE("a path with long round trips is found to be slow within a second as well, and not by one sample") {
  Pair path;
  path.length = 200ms;
  path.run(0.1 * kGigabit, kGigabit, 600ms);
  CHECK_FALSE(path.pace.slow());
  path.run(0.1 * kGigabit, kGigabit, 200ms);
  CHECK(path.pace.slow());
}

TEST_CASE("a path is not blamed for a fall from what a CPU was the limit of") {
  Pair path;
  path.limited = false;
  path.run(kGigabit, kGigabit, 2s);
  path.run(0.25 * kGigabit, kGigabit, 1min);
  CHECK_FALSE(path.pace.slow());
  path.limited = true;
  path.run(kGigabit, kGigabit, 2s);
  path.run(0.25 * kGigabit, kGigabit, 1s);
  CHECK(path.pace.slow());
}

TEST_CASE("a path is not blamed for what it was not given") {
  Pair path;
  path.run(kGigabit, kGigabit, 2s);
  path.waiting = 0.5;
  path.run(0.01 * kGigabit, kGigabit, 1min);
  CHECK_FALSE(path.pace.slow());
}

TEST_CASE("a moment without waiting bytes now and then is enough not to be compared") {
  Pair path;
  for (int i = 0; i < 50; ++i) {
    path.waiting = 1;
    path.run(0.1 * kGigabit, kGigabit, 400ms);
    path.waiting = 0;
    path.run(0.1 * kGigabit, kGigabit, 50ms);
  }
  CHECK_FALSE(path.pace.slow());
}

TEST_CASE("a sister is compared with whatever its limit is, and one that delivers little says nothing") {
  Pair path;
  path.sister_waiting = 0;
  path.run(0.1 * kGigabit, 0.4 * kGigabit, 2s);
  CHECK_FALSE(path.pace.slow());
  path.run(0.1 * kGigabit, 0.9 * kGigabit, 2s);
  CHECK(path.pace.slow());
}

TEST_CASE(
    "a path that falls is not blamed beside a sister that brings even less: the process may have no CPU") {
  Pair path;
  path.run(4 * kGigabit, 0.1 * kGigabit, 1s);
  path.run(0.8 * kGigabit, 0.1 * kGigabit, 2s);
  CHECK_FALSE(path.pace.slow());
}

TEST_CASE("what falls on both, or begins anew, is no fault for a while") {
  Pair path;
  path.run(kGigabit, kGigabit, 1s);
  SECTION("both have fallen") {
    path.run(0.1 * kGigabit, 0.1 * kGigabit, 1min);
    CHECK_FALSE(path.pace.slow());
  }
  SECTION("the path has a second to find its rate") {
    path.pace.restart(path.now);
    path.run(0.1 * kGigabit, kGigabit, Pace::kStart + Pace::kWindow);
    CHECK_FALSE(path.pace.slow());
    path.run(0.1 * kGigabit, kGigabit, 100ms);
    CHECK(path.pace.slow());
  }
}

TEST_CASE("a rail is named once, with how many of its peers it is slow to") {
  Instant now{1h};
  RailPaces rail("eth1");
  Pair quick, slow;
  quick.run(kGigabit, kGigabit, 1s);
  slow.run(kGigabit, 10 * kGigabit, 1s);
  REQUIRE(slow.pace.slow());
  const int of_three = GENERATE(1, 2, 3);
  const auto sample = [&] {
    int number = 0;
    for (const char* peer : {"10.0.0.7", "10.0.0.8", "10.0.0.9"}) {
      rail.on_compared(peer, number++ < of_three ? slow.pace : quick.pace, now);
    }
    return rail.news(now);
  };
  CHECK_FALSE(sample());
  now += RailPaces::kCollect - 1ms;
  CHECK_FALSE(sample());
  now += 1ms;
  const auto news = sample();
  REQUIRE(news);
  CHECK(news->slow);
  CHECK_THAT(news->text, Contains("rail eth1 delivers " + std::to_string(of_three) + ".0") &&
                             Contains("to " + std::to_string(of_three) + " of 3 peers (10.0.0.7"));
  CHECK_THAT(news->text, Contains(of_three == 1 ? "the NIC of that host" : "this host's NIC"));
  CHECK_FALSE(sample());
  now += 2s;
  for (const char* peer : {"10.0.0.7", "10.0.0.8", "10.0.0.9"}) {
    rail.on_compared(peer, quick.pace, now);
  }
  const auto end = rail.news(now);
  REQUIRE(end);
  CHECK_FALSE(end->slow);
  CHECK_THAT(end->text, Contains("is no longer slow, after 2.0 s"));
  // Not again at once.
  CHECK_FALSE(sample());
  now += 1s;
  CHECK_FALSE(sample());
  now += RailPaces::kQuiet;
  CHECK(sample());
}

TEST_CASE("a rail is not named for what a process without a CPU has seen, but soon afterwards") {
  Instant now{1h};
  RailPaces rail("eth1");
  Pair slow;
  slow.run(kGigabit, 10 * kGigabit, 1s);
  REQUIRE(slow.pace.slow());
  CHECK_FALSE(rail.suspects());
  rail.on_compared("10.0.0.7", slow.pace, now);
  for (int i = 0; i < 3; ++i) {
    CHECK(rail.suspects());
    CHECK_FALSE(rail.is_due(now));
    now += RailPaces::kCollect;
    CHECK(rail.is_due(now));
    CHECK(rail.put_off(now));
    CHECK_FALSE(rail.news(now));
  }
  // A process that always waits names it all the same.
  now += RailPaces::kCollect;
  CHECK_FALSE(rail.put_off(now));
  CHECK(rail.news(now));
  CHECK_FALSE(rail.suspects());
}

TEST_CASE("a rail that brings next to nothing is said to bring what it does") {
  Instant now{1h};
  RailPaces rail("eth1");
  Pair slow;
  slow.run(0.0004 * kGigabit, 0.02 * kGigabit, 1s);
  REQUIRE(slow.pace.slow());
  rail.on_compared("10.0.0.7", slow.pace, now);
  CHECK_FALSE(rail.news(now));
  const auto news = rail.news(now + RailPaces::kCollect);
  REQUIRE(news);
  CHECK_THAT(news->text, Contains("delivers 0.40 instead of 20.00 Mbit/s"));
}

TEST_CASE("a rail's last line says what it carried, and what was lost") {
  RailSummary summary{.rail = "eth1", .sent = 12'340'000'000, .received = 5'000'000, .losses = {}};
  CHECK(to_string(summary) == "rail eth1: 12.34 GB sent, 0.01 GB received; no connection was lost");
  summary.payload = 12'000'000'000;
  summary.repeated = 599'000;
  CHECK(to_string(summary) == "rail eth1: 12.34 GB sent, 0.01 GB received; no connection was lost");
  summary.payload = 12'240'000'000;
  summary.repeated = 240'000'000;
  CHECK(to_string(summary) ==
        "rail eth1: 12.34 GB sent, 2.00 % of it again, 0.01 GB received; no connection was lost");
  summary.busy = 2s;
  CHECK(to_string(summary) ==
        "rail eth1: 12.34 GB sent, 2.00 % of it again, 0.01 GB received, 49.38 Gbit/s while it did; "
        "no connection was lost");
  summary.busy = 900ms;  // says nothing
  summary.repeated = 0;
  summary.absences = 2;
  summary.losses += {.connections = 40, .bytes = 1'500'000, .longest = 1500ms};
  summary.losses += {.connections = 8, .bytes = 0, .longest = 12'300ms};
  CHECK(to_string(summary) ==
        "rail eth1: 12.34 GB sent, 0.01 GB received; its link was lost 2 time(s); 48 connection(s) lost, "
        "1.50 MB "
        "sent again, without a connection to a peer for 12.3 s at most");
  summary.counts_bytes = false;
  summary.absences = 0;
  summary.losses = {};
  CHECK(to_string(summary) == "rail eth1: no connection was lost");
}

TEST_CASE("a job's last line says what the bytes have cost, and how long the worst wait was") {
  JobSummary summary{.bytes = 20'000'000'000, .cpu = 1800ms, .longest_wait = 3200ms};
  CHECK(to_string(summary) ==
        "in all: 20.00 GB, 0.090 s of CPU for each; the longest time in which nothing moved of a channel "
        "that waited was 3.2 s");
  summary.bytes = 4000;  // too little to divide by
  CHECK(to_string(summary) ==
        "in all: 0.00 GB; the longest time in which nothing moved of a channel that waited was 3.2 s");
}
