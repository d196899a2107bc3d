// What `tfabric perf` prints: one row a size, as a table for people or JSON for programs.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "tools/perf/control.h"
#include "tools/perf/options.h"
#include "tools/perf/statistics.h"

namespace tfabric::perf {

// CPU seconds are of all threads of one process, for each 10^9 bytes of payload it moved.
struct StreamRow {
  std::uint64_t messages = 0;
  double bytes_per_second = 0;  // payload; both directions together when bidirectional
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

// Writes to the file that --json named ("-": stdout).
Status write_json(const std::string& file, Json report);

}  // namespace tfabric::perf
