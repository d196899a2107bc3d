#include <catch2/catch.hpp>

#include "transport/tcp/link/exchange.h"
#include "transport/tcp/link/port_trial.h"

namespace tfabric::link {

TEST_CASE("engines share the ports out evenly, and each port says whose it is") {
  const PortMap ports(50000, 1000, 3, 0);
  for (std::uint16_t e = 0; e < 3; ++e) {
    CHECK(ports.count_of(e) == 333);
    CHECK(ports.listening_of(e) == 0);
    CHECK(ports.owner(ports.first_of(e)) == e);
    CHECK(ports.owner(static_cast<std::uint16_t>(ports.first_of(e) + 332)) == e);
  }
  for (const int nobodys : {0, 1, 49999, 50999, 51000, 65535}) {
    CHECK_FALSE(ports.owner(static_cast<std::uint16_t>(nobodys)));
  }
}

TEST_CASE("a given listening port is the first engine's, and the next ones those of the others") {
  const PortMap apart(50000, 1000, 2, 4000);
  CHECK(apart.listening_of(0) == 4000);
  CHECK(apart.listening_of(1) == 4001);
  CHECK(apart.owner(4000) == 0);
  CHECK(apart.owner(4001) == 1);
  CHECK_FALSE(apart.owner(4002));
  CHECK_FALSE(apart.owner(3999));
}

TEST_CASE("a listening port within the range of another engine is its listener's") {
  const PortMap within(50000, 1000, 2, 50010);
  CHECK(within.owner(50009) == 0);
  CHECK(within.owner(50010) == 0);
  CHECK(within.owner(50011) == 1);
  CHECK(within.owner(50012) == 0);
  CHECK(within.owner(50500) == 1);
}

TEST_CASE("the last ports there are can be shared out") {
  const PortMap ports(49152, 16384, 16, 65520);
  CHECK(ports.owner(65535) == 15);
  CHECK(ports.owner(65520) == 0);
  CHECK(ports.owner(65519) == 15);
}

namespace {

using Verdict = PortTrial::Verdict;
constexpr PortTrial::Answer kBoth{.here = true, .there = true}, kHere{.here = true, .there = false},
    kThere{.here = false, .there = true}, kNeither{.here = false, .there = false};

// Lets every port be answered alike until the trial is over; how many ports were tried.
int tries(PortTrial& trial, const PortTrial::Answer& answer) {
  for (int n = 1;; ++n) {
    if (trial.judge(static_cast<std::uint16_t>(n), answer) != Verdict::another) {
      return n;
    }
  }
}

}  // namespace

TEST_CASE("a port that is right at both ends is kept at once") {
  PortTrial trial(2);
  CHECK(trial.judge(1, kBoth) == Verdict::keep);
}

TEST_CASE("ports are tried until one is right at both ends") {
  PortTrial trial(4);
  CHECK(trial.judge(1, kNeither) == Verdict::another);
  CHECK(trial.judge(2, kThere) == Verdict::another);
  CHECK(trial.judge(3, kHere) == Verdict::another);
  CHECK(trial.judge(4, kBoth) == Verdict::keep);
}

TEST_CASE("tries are bounded, and a port as good as any is kept where it is") {
  for (const std::uint16_t engines : {2, 3, 16}) {
    PortTrial trial(engines);
    CHECK(tries(trial, kNeither) == std::min(4 * engines, 24));
  }
}

TEST_CASE("after the last try the best port is taken up again, and kept whatever its answer is then") {
  PortTrial trial(2);
  CHECK(trial.judge(10, kHere) == Verdict::another);
  CHECK(trial.judge(11, kThere) == Verdict::another);
  CHECK(trial.judge(12, kThere) == Verdict::another);
  for (std::uint16_t port = 13; port < 17; ++port) {
    CHECK(trial.judge(port, kHere) == Verdict::another);
  }
  CHECK(trial.judge(17, kNeither) == Verdict::best);
  CHECK(trial.best() == 11);  // what comes in there is the data
  CHECK(trial.judge(11, kNeither) == Verdict::keep);
}

}  // namespace tfabric::link
