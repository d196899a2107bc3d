// What `tfabric perf` prints between two processes: summaries of measured times, one row a size, as a table
// for people or as JSON for programs.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "tools/perf/command.h"
#include "tools/perf/messages.h"

namespace tfabric::perf {

// Returns min, min * factor, ... while they do not exceed max; 0 is followed by 1. `factor` >= 2. Empty if
// min > max.
[[nodiscard]] std::vector<std::uint64_t> size_sweep(std::uint64_t min, std::uint64_t max,
                                                    std::uint64_t factor);

struct LatencySummary {
  double min_us = 0;
  double p50_us = 0;
  double p99_us = 0;
  double p999_us = 0;
};

// Returns the smallest value that at least `percent` (0 ... 100) of the samples do not exceed (nearest rank).
// `sorted` is ascending and not empty.
[[nodiscard]] std::uint64_t percentile(const std::vector<std::uint64_t>& sorted, double percent);

// Summarises full round trips as half round trips. All zero without samples.
[[nodiscard]] LatencySummary half_round_trips(std::vector<std::uint64_t> round_trip_ns);

// Returns the user and system time of this process so far, of all threads, in seconds.
[[nodiscard]] double process_cpu_seconds();

// CPU seconds are those of all threads of one process, per 10^9 bytes of payload that it moved.
struct StreamRow {
  std::uint64_t messages = 0;
  double bytes_per_second = 0;  // of payload; the sum of both directions if bidirectional
  double messages_per_second = 0;
  double client_cpu_per_gb = 0;
  double server_cpu_per_gb = 0;
};

struct Row {
  std::uint64_t size = 0;
  std::optional<StreamRow> stream;
  std::optional<LatencySummary> latency;  // half round trips
  std::uint64_t wrong_bytes = 0;
};

[[nodiscard]] std::string table_heading(const SweepOptions& options);
[[nodiscard]] std::string table_row(const Row& row);
[[nodiscard]] Json json_row(const Row& row);

// Writes to the file that --json named; "-" is standard output.
Status write_json(const std::string& file, Json report);

}  // namespace tfabric::perf
