// Two connections and a bad wire, many times. TFABRIC_SIM_SEEDS=n runs n seeds, TFABRIC_SIM_SEED=s one.
#include <fmt/format.h>

#include <catch2/catch.hpp>
#include <cstdlib>

#include "tests/simulation/run.h"

using namespace tfabric::simulation;

namespace {

constexpr std::uint64_t kSeeds = 3000;

std::uint64_t number_from(const char* variable, std::uint64_t otherwise) {
  const char* text = std::getenv(variable);
  return text == nullptr ? otherwise : std::strtoull(text, nullptr, 10);
}

void run_seed(std::uint64_t seed) {
  if (const auto failure = run(draw_scenario(seed)).failure) {
    // Printed here, as Catch breaks long lines.
    fmt::print("{}\nto repeat it: TFABRIC_SIM_SEED={} {}\n\n", *failure, seed,
               "build/release/tests/simulation_tcp");
    FAIL_CHECK("seed " << seed);
  }
}

}  // namespace

TEST_CASE("every byte arrives once and in order, and every connection ends, whatever the wire does") {
  if (std::getenv("TFABRIC_SIM_SEED") != nullptr) {
    run_seed(number_from("TFABRIC_SIM_SEED", 0));
    return;
  }
  const std::uint64_t seeds = number_from("TFABRIC_SIM_SEEDS", kSeeds);
  for (std::uint64_t seed = 1; seed <= seeds; ++seed) {
    run_seed(seed);
  }
}

TEST_CASE("a seed always gives the same run") {
  REQUIRE(draw_scenario(7).describe() == draw_scenario(7).describe());
}
