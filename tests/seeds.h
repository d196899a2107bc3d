// Which seeds a test of made-up worlds runs: as many as it says, or as the environment does.
#pragma once

#include <cstdint>
#include <cstdlib>

#include "tests/sanitized.h"

namespace tfabric::test {

struct Seeds {
  std::uint64_t first = 1, count = 0;
  bool one = false;  // a single one was asked for
};

// TFABRIC_SEEDS=100000 for so many, TFABRIC_SEED=N for that one. `sanitized`: how many sanitizers run.
inline Seeds seeds(std::uint64_t count, std::uint64_t sanitized) {
  const auto from_environment = [](const char* name, std::uint64_t otherwise) {
    const char* value = std::getenv(name);
    return value == nullptr ? otherwise : std::strtoull(value, nullptr, 10);
  };
  const std::uint64_t one = from_environment("TFABRIC_SEED", 0);
  return one != 0 ? Seeds{one, 1, true}
                  : Seeds{1, from_environment("TFABRIC_SEEDS", kSanitized ? sanitized : count)};
}

}  // namespace tfabric::test
