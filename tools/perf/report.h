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

struct IntervalRow {
  double end_s = 0;  // since the measurement of this size began
  double bytes_per_second = 0;
};

struct Row {
  std::uint64_t size = 0;
  std::vector<IntervalRow> intervals;  // of the stream
  std::optional<StreamRow> stream;
  std::optional<LatencySummary> latency;  // half round trips
  std::uint64_t wrong_bytes = 0;
};

[[nodiscard]] std::string table_heading(const SweepOptions& options);
[[nodiscard]] std::string table_row(const Row& row);
// A line of comment, for the time before the row is complete.
[[nodiscard]] std::string interval_line(std::uint64_t size, const IntervalRow& interval);
[[nodiscard]] Json json_row(const Row& row);
// What was asked for, and the variables of the environment that NCCL and the plugin read: what a reader needs
// to measure the same again.
[[nodiscard]] Json json_settings(const LocalOptions& local, const SweepOptions& sweep);
// The names of the two hosts, as the user knows them.
[[nodiscard]] Json json_hosts(const SweepOptions& sweep);

// Writes to the file that --json named; "-" is standard output. Failures are kept by tools/output.h.
void write_json(const std::string& file, Json report);

}  // namespace tfabric::perf
