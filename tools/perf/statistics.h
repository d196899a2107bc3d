// Summaries of measured times.
#pragma once

#include <cstdint>
#include <vector>

namespace tfabric::perf {

struct LatencySummary {
  double min_us = 0;
  double p50_us = 0;
  double p99_us = 0;
  double p999_us = 0;
};

// The smallest value that at least `percent` (0 ... 100) of the samples do not exceed (nearest rank).
// `sorted` is ascending and not empty.
[[nodiscard]] std::uint64_t percentile(const std::vector<std::uint64_t>& sorted, double percent);

// Full round trips in nanoseconds to half round trips in microseconds. All zero without samples.
[[nodiscard]] LatencySummary half_round_trips(std::vector<std::uint64_t> round_trip_ns);

// User and system time of this process so far, all its threads, in seconds.
[[nodiscard]] double process_cpu_seconds();

}  // namespace tfabric::perf
