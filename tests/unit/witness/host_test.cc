#include "transport/witness/host.h"

#include <algorithm>
#include <array>
#include <catch2/catch.hpp>
#include <functional>
#include <random>
#include <set>
#include <vector>

using namespace tfabric;
using namespace tfabric::witness;
using namespace std::chrono_literals;

namespace {

using Reach = Host::Reach;
using Step = Host::Step;
using Kind = Host::Step::Kind;

constexpr std::uint64_t kSelf = 1000;

Instant after(Duration time) { return Instant(time); }

// Processes 1 to `count`; the first has a connection.
Host host_of(std::uint64_t count) {
  Host host(kSelf);
  for (std::uint64_t process = 1; process <= count; ++process) {
    host.add(process, after(0s));
  }
  host.set_reach(1, Reach::open, after(0s));
  return host;
}

// Two processes; the second is known through the first, from 2 s on.
Host known() {
  Host host = host_of(2);
  REQUIRE(host.next(after(2s)) == Step{Kind::watch, 2, 1});
  host.report(1, 2, Finding::alive, after(2s));
  return host;
}

}  // namespace

TEST_CASE("a deputy is asked to watch a process that has got no connection of its own for a second") {
  Host host = host_of(2);
  REQUIRE_FALSE(host.next(after(999ms)));
  REQUIRE(host.next(after(1s)) == Step{Kind::watch, 2, 1});
  REQUIRE_FALSE(host.next(after(1s)));
  REQUIRE(host.view(2) == View::unknown);
  REQUIRE(host.is_deputy(1));
  host.report(1, 2, Finding::alive, after(1100ms));
  REQUIRE(host.view(2) == View::alive);
  REQUIRE_FALSE(host.next(after(1h)));
}

TEST_CASE("what a deputy reports is the view") {
  Host host = known();
  host.report(1, 2, Finding::stopped, after(10s));
  REQUIRE(host.view(2) == View::stopped);
  REQUIRE(host.stopped_since(2) == after(9s));
  host.report(1, 2, Finding::alive, after(12s));
  REQUIRE(host.view(2) == View::alive);
  host.report(1, 2, Finding::ended, after(13s));
  REQUIRE(host.view(2) == View::ended);
}

TEST_CASE("a comm's question is passed on at once, and again after a pause while the interest lasts") {
  Host host = known();
  host.want(2, after(10s));
  REQUIRE(host.view(2) == View::asked);
  REQUIRE(host.next(after(10s)) == Step{Kind::inquire, 2, 1});
  REQUIRE_FALSE(host.next(after(10s)));
  host.report(1, 2, Finding::alive, after(10s + 20ms));
  REQUIRE(host.view(2) == View::alive);
  REQUIRE_FALSE(host.next(after(10s + 269ms)));
  REQUIRE(host.next(after(10s + 270ms)) == Step{Kind::inquire, 2, 1});
  host.report(1, 2, Finding::stopped, after(11500ms));
  REQUIRE(host.view(2) == View::stopped);
  REQUIRE(host.stopped_since(2) == after(10s + 270ms));
  // The deputy says when it runs again.
  REQUIRE_FALSE(host.next(after(12s)));
  host.report(1, 2, Finding::alive, after(20s));
  REQUIRE_FALSE(host.next(after(20s)));
}

TEST_CASE("another deputy is asked if one does not answer, does not know the process, or is gone") {
  const auto reason = GENERATE(0, 1, 2, 3);
  Host host = known();
  host.add(3, after(2s));
  host.set_reach(3, Reach::open, after(2s));
  Duration time = 10s;
  if (reason == 0) {
    host.want(2, after(time));
    REQUIRE(host.next(after(time)) == Step{Kind::inquire, 2, 1});
    time += Host::kAnswer;
  } else if (reason == 1) {
    host.report(1, 2, Finding::unknown, after(time));
  } else {
    host.set_reach(1, reason == 2 ? Reach::over : Reach::mute, after(time));
  }
  REQUIRE(host.next(after(time)) == Step{Kind::watch, 2, 3});
  REQUIRE(host.view(2) == View::unknown);
  host.report(3, 2, Finding::alive, after(time));
  REQUIRE(host.view(2) == View::alive);
  REQUIRE(host.deputy_of(2) == 3);
}

TEST_CASE("a process that no deputy finds stays unknown, and is asked for less and less often") {
  Host host = host_of(2);
  Instant now = after(1s);
  std::vector<Duration> pauses;
  for (Instant last{}; pauses.size() < 9; now += 1ms) {
    if (host.next(now)) {
      pauses.push_back(now - last);
      last = now;
      host.report(1, 2, Finding::absent, now);
    }
    REQUIRE(host.view(2) == View::unknown);
  }
  for (std::size_t i = 1; i < pauses.size(); ++i) {
    REQUIRE(pauses[i] / 1s == (i < 7 ? 1 << (i - 1) : 60));
  }
}

TEST_CASE("a deputy that finds a process late is believed") {
  Host host = host_of(2);
  REQUIRE(host.next(after(1s)));
  host.report(1, 2, Finding::unknown, after(1s));
  REQUIRE(host.view(2) == View::unknown);
  host.report(1, 2, Finding::alive, after(1500ms));
  REQUIRE(host.view(2) == View::alive);
}

TEST_CASE("a process that was found once and whose port is closed now has ended") {
  Host host = known();
  host.add(3, after(2s));
  host.set_reach(1, Reach::over, after(10s));
  host.set_reach(3, Reach::open, after(10s));
  REQUIRE(host.next(after(10s)) == Step{Kind::watch, 2, 3});
  host.report(3, 2, Finding::absent, after(10s));
  REQUIRE(host.view(2) == View::ended);
  REQUIRE_FALSE(host.next(after(1h)));
}

TEST_CASE("reports of a process on itself, of one that is no member, and on one that is none are ignored") {
  Host host = known();
  host.report(2, 2, Finding::ended, after(3s));
  host.report(9, 2, Finding::ended, after(3s));
  host.report(1, 9, Finding::ended, after(3s));
  REQUIRE(host.view(2) == View::alive);
  REQUIRE(host.view(9) == View::unknown);
}

TEST_CASE("a process's own connection comes before what others report") {
  Host host = known();
  host.set_reach(2, Reach::open, after(10s));
  REQUIRE(host.view(2) == View::unknown);
  REQUIRE_FALSE(host.is_deputy(1));
  host.report(1, 2, Finding::stopped, after(11s));
  host.set_reach(2, Reach::none, after(20s));
  REQUIRE(host.view(2) == View::unknown);
  REQUIRE_FALSE(host.next(after(20s + 999ms)));
  REQUIRE(host.next(after(21s)) == Step{Kind::watch, 2, 1});
}

TEST_CASE(
    "a host without a connection has one of its processes dialled, then the others, then after pauses") {
  Host host(kSelf);
  for (const std::uint64_t process : {1, 2, 3}) {
    host.add(process, after(0s));
  }
  REQUIRE_FALSE(host.next(after(999ms)));
  std::vector<std::uint64_t> dialled;
  while (const auto step = host.next(after(1s))) {
    REQUIRE(step->kind == Kind::dial);
    dialled.push_back(step->process);
    host.set_reach(step->process, Reach::dialling, after(1s));
    REQUIRE_FALSE(host.next(after(1s)));
    host.set_reach(step->process, Reach::none, after(1s));
  }
  std::sort(dialled.begin(), dialled.end());
  REQUIRE(dialled == std::vector<std::uint64_t>{1, 2, 3});
  REQUIRE_FALSE(host.next(after(1999ms)));
  REQUIRE(host.next(after(2s))->kind == Kind::dial);
}

TEST_CASE("a host whose only connection is to a stopped process gets another one") {
  Host host = known();
  host.set_reach(1, Reach::mute, after(10s));
  REQUIRE(host.next(after(10s)) == Step{Kind::dial, 2, 0});
}

TEST_CASE("two hosts of eight choose the same pairs, and few connections") {
  constexpr std::size_t kRounds = 200, kProcesses = 8;
  std::mt19937_64 random(1);
  std::size_t connections = 0;
  for (std::size_t round = 0; round < kRounds; ++round) {
    std::array<std::array<std::uint64_t, kProcesses>, 2> hosts;
    for (auto& numbers : hosts) {
      std::generate(numbers.begin(), numbers.end(), std::ref(random));
    }
    std::set<std::pair<std::uint64_t, std::uint64_t>> pairs;
    for (std::size_t side = 0; side < 2; ++side) {
      for (const std::uint64_t self : hosts[side]) {
        Host host(self);
        for (const std::uint64_t other : hosts[1 - side]) {
          host.add(other, after(0s));
        }
        pairs.insert(std::minmax({self, host.next(after(1s))->process}));
      }
    }
    connections += pairs.size();
  }
  // All choose at the same moment: of 16 choices, 64 / 15 are the same as another one, on average.
  REQUIRE(connections < kRounds * 121 / 10);
  REQUIRE(connections > kRounds * 113 / 10);
}
