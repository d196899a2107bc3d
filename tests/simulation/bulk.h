// One bulk transfer over a wire that a test makes bad in one way.
#pragma once

#include <cstdint>

#include "tests/simulation/run.h"

namespace tfabric::simulation {

// How many seeds a scenario runs with: `most`, but two under AddressSanitizer, which is forty times slower.
[[nodiscard]] constexpr std::uint64_t seeds(std::uint64_t most) {
#ifdef __SANITIZE_ADDRESS__
  return most < 2 ? most : 2;
#else
  return most;
#endif
}

// Ten megabytes from A to B over 125 MB/s, half a millisecond each way, and a queue that does not overflow.
[[nodiscard]] Scenario bulk(std::uint64_t seed);
// Runs it; the test fails if a property does not hold.
Report must(const Scenario& scenario);

}  // namespace tfabric::simulation
