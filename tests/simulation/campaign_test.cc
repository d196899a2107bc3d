// Many seeds over several processes: each one is run and counted, even if its process dies.
#include "tests/simulation/campaign.h"

#include <catch2/catch.hpp>
#include <cstdlib>

using namespace tfabric;
using namespace tfabric::simulation;
using namespace std::chrono_literals;

namespace {

Report fails_now_and_then(const Scenario& scenario, Observer*) {
  Report report;
  report.packets = 1;
  if (scenario.seed % 10 == 0) {
    report.failure = {Property::contract, "every tenth"};
  }
  return report;
}

Report crashes_once(const Scenario& scenario, Observer* observer) {
  if (scenario.seed == 7) {
    std::_Exit(3);
  }
  return fails_now_and_then(scenario, observer);
}

Report hangs_once(const Scenario& scenario, Observer* observer) {
  for (volatile bool endless = scenario.seed == 7; endless;) {
  }
  return fails_now_and_then(scenario, observer);
}

}  // namespace

TEST_CASE("all seeds of a range are run once, and those that fail are counted") {
  const CampaignResult result =
      run_campaign({.first = 101, .last = 300, .jobs = 3, .run = &fails_now_and_then});
  REQUIRE(result.runs == 200);
  REQUIRE(result.packets == 200);
  REQUIRE(result.failures == 20);
}

TEST_CASE("a seed that ends its process is a failure, and the others are run") {
  const CampaignResult result = run_campaign({.first = 1, .last = 40, .jobs = 2, .run = &crashes_once});
  REQUIRE(result.runs == 40);
  REQUIRE(result.packets == 39);
  REQUIRE(result.failures == 5);
}

TEST_CASE("a seed that never ends is a failure, and the others are run") {
  const CampaignResult result =
      run_campaign({.first = 1, .last = 40, .jobs = 2, .hang = 1s, .run = &hangs_once});
  REQUIRE(result.runs == 40);
  REQUIRE(result.failures == 5);
}

TEST_CASE("without a mechanism many seeds fail") {
  const CampaignResult result = run_campaign({.first = 1, .last = 30, .jobs = 2, .off = Mechanism::timers});
  REQUIRE(result.runs == 30);
  REQUIRE(result.failures > 5);
}
