// Many seeds, over several processes: one that crashes or hangs costs its seed and no more.
#pragma once

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <utility>

#include "base/time.h"

namespace tfabric::simulation {

// What a caller counts over all seeds.
inline constexpr std::size_t kSeedCounts = 6;
using SeedCounts = std::array<std::uint64_t, kSeedCounts>;

struct SeedOutcome {
  std::optional<std::string> failure;
  Duration virtual_time{};
  SeedCounts counts{};
};

struct SeedOptions {
  std::uint64_t first = 1, last = 1;  // both included
  unsigned jobs = 1;
  std::chrono::seconds progress{10};  // between two lines on stderr
  // Processor time. A seed that takes more is a failure, and its process is killed.
  std::chrono::seconds hang{300};
  std::string program;  // which repeats a seed by `--seed N` and these arguments
  std::string arguments;
  std::function<SeedOutcome(std::uint64_t)> run;  // called in the processes
};

struct SeedTotals {
  std::uint64_t runs = 0, failures = 0;
  Duration virtual_time{};
  SeedCounts counts{};
  std::chrono::duration<double> took{};
};

// Prints each failing seed to stdout, with the way to repeat it, and progress to stderr.
[[nodiscard]] SeedTotals run_seeds(const SeedOptions& options);

// Reads "1..100000"; returns nothing if it is no range.
[[nodiscard]] std::optional<std::pair<std::uint64_t, std::uint64_t>> parse_seed_range(
    const std::string& text);

}  // namespace tfabric::simulation
