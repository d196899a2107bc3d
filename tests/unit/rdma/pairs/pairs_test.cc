// Lanes over queue pairs whose network, ports and devices fail, in virtual time (pairs_world.h).
#include <catch2/catch.hpp>
#include <cinttypes>
#include <cstdio>
#include <string>

#include "tests/seeds.h"
#include "tests/unit/rdma/pairs/pairs_world.h"

using namespace tfabric;
using namespace tfabric::rdma::pairs;
using namespace tfabric::rdma::pairs::test;
using namespace std::chrono_literals;

namespace {

PairsWorld::Outcome run(std::uint64_t seed, const Rules& rules = {}) {
  engine::Engine engine{{}};
  const engine::Guard guard(engine.lock());
  return PairsWorld(seed, rules).run();
}

// The first of so many seeds that finds the fault; 0: none does.
std::uint64_t found_by(const Rules& rules, std::uint64_t seeds) {
  for (std::uint64_t seed = 1; seed <= seeds; ++seed) {
    if (!run(seed, rules).fault.empty()) {
      return seed;
    }
  }
  return 0;
}

}  // namespace

TEST_CASE("messages over pairs arrive once and whole, whatever becomes of pairs, ports and devices") {
  const auto [first, count, one] = tfabric::test::seeds(300, /*sanitized=*/20);
  std::uint64_t buried = 0, dealt_again = 0, late = 0, lost = 0;
  for (std::uint64_t seed = first; seed < first + count; ++seed) {
    const PairsWorld::Outcome outcome = run(seed);
    INFO("seed " << seed);
    REQUIRE(outcome.fault == "");
    buried += outcome.buried;
    dealt_again += outcome.dealt_again;
    late += outcome.late_writes;
    lost += outcome.lost_data ? 1 : 0;
  }
  // What the seeds are for has happened, too.
  if (!one) {
    CHECK((buried > 0 && dealt_again > 0 && late > 0));
  }
  std::printf("%" PRIu64 " lanes were buried, %" PRIu64 " bytes dealt again, %" PRIu64
              " writes came late, %" PRIu64 " devices lost what they had acknowledged\n",
              buried, dealt_again, late, lost);
}

TEST_CASE("each rule of pairs is missed when it is left out") {
  if (tfabric::test::kSanitized) {
    return;  // it takes a minute, and the rules are the same
  }
  CHECK(found_by({.fence = false}, 3000) != 0);
  CHECK(found_by({.own_fence = false}, 10'000) != 0);
  CHECK(found_by({.credit = false}, 3000) != 0);
  CHECK(found_by({.position = false}, 3000) != 0);
}
