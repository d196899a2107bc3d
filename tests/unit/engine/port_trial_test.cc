#include "transport/tcp/engine/port_trial.h"

#include <catch2/catch.hpp>

namespace tfabric::engine {
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

}  // namespace tfabric::engine
