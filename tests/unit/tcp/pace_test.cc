#include "transport/tcp/flows/pace.h"

#include <catch2/catch.hpp>

#include "transport/tcp/rails/rail_summary.h"

using namespace tfabric;
using namespace tfabric::tcp;
using namespace std::chrono_literals;
using Catch::Contains;

namespace {

constexpr double kGigabit = 125e6;  // bytes a second

// Samples each 10 ms.
struct Clocked {
  Pace pace;
  Instant now{1h};
  int changes = 0;
  void run(double rate, Duration time) {
    for (const Instant end = now + time; now < end; now += 10ms) {
      const bool was_slow = pace.slow();
      pace.on_sample(rate, now);
      changes += pace.slow() != was_slow ? 1 : 0;
    }
  }
};

}  // namespace

TEST_CASE("a path is slow below a third of what is usual, and no more above half") {
  Clocked path;
  path.run(kGigabit, 1s);
  path.run(0.4 * kGigabit, 1s);
  CHECK_FALSE(path.pace.slow());
  path.run(0.3 * kGigabit, 60ms);
  CHECK_FALSE(path.pace.slow());
  path.run(0.3 * kGigabit, 20ms);
  CHECK(path.pace.slow());
  path.run(0.4 * kGigabit, 1s);
  CHECK(path.pace.slow());
  path.run(0.9 * kGigabit, 80ms);
  CHECK_FALSE(path.pace.slow());
  CHECK(path.changes == 2);
}

TEST_CASE("one good sample in between is enough not to be slow") {
  Clocked path;
  path.run(kGigabit, 1s);
  for (int i = 0; i < 50; ++i) {
    path.run(0.1 * kGigabit, 50ms);
    path.run(kGigabit, 10ms);
  }
  CHECK_FALSE(path.pace.slow());
}

TEST_CASE(
    "what is slow for minutes is usual then, and a path that begins anew has a second to find its rate") {
  Clocked path;
  path.run(kGigabit, 1s);
  path.run(0.1 * kGigabit, 5min + 1s);
  CHECK_FALSE(path.pace.slow());
  path.run(kGigabit, 1s);
  path.pace.restart(path.now);
  path.run(0.1 * kGigabit, 1s);
  CHECK_FALSE(path.pace.slow());
  path.run(0.1 * kGigabit, 100ms);
  CHECK(path.pace.slow());
}

TEST_CASE("a rail is named once, with how many of its peers it is slow to") {
  Instant now{1h};
  RailPaces rail("eth1");
  Clocked quick, slow;
  quick.run(kGigabit, 1s);
  slow.run(10 * kGigabit, 1s);
  slow.run(kGigabit, 200ms);
  const int of_three = GENERATE(1, 2, 3);
  const auto sample = [&] {
    int number = 0;
    for (const char* peer : {"10.0.0.7", "10.0.0.8", "10.0.0.9"}) {
      const bool blamed = number++ < of_three;
      rail.on_sample(peer, blamed ? slow.pace : quick.pace, blamed, now);
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
    rail.on_sample(peer, quick.pace, false, now);
  }
  const auto end = rail.news(now);
  REQUIRE(end);
  CHECK_FALSE(end->slow);
  CHECK_THAT(end->text, Contains("as fast as before, after 2.0 s"));
  // Not again at once.
  CHECK_FALSE(sample());
  now += 1s;
  CHECK_FALSE(sample());
  now += RailPaces::kQuiet;
  CHECK(sample());
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
