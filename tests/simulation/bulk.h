// One bulk transfer over a wire that a test makes bad in one way.
#pragma once

#include <cstdint>

#include "tests/sanitized.h"
#include "tests/simulation/run.h"

namespace tfabric::simulation {

// How many seeds a scenario runs with: `most`, but two under the sanitizers, which are up to forty times
// slower.
[[nodiscard]] constexpr std::uint64_t seeds(std::uint64_t most) {
  return test::kSanitized && most > 2 ? 2 : most;
}

// Ten megabytes from A to B over 125 MB/s, half a millisecond each way, and a queue that does not overflow.
// wires[0] leads from A to B.
[[nodiscard]] Scenario bulk(std::uint64_t seed);
// `senders` hosts that each send ten megabytes to host 0, over a switch with a queue of 256 KB.
[[nodiscard]] Scenario incast(std::uint64_t seed, std::uint32_t senders);
// Runs it; the test fails if a property does not hold.
Report must(const Scenario& scenario);
// Returns the counters of A's end of the only flow.
[[nodiscard]] inline const stack::ConnectionInfo& sender(const Report& report) {
  return report.flows.at(0).at(0);
}

}  // namespace tfabric::simulation
