// The subcommand `tfabric perf` (docs/perf.md): its options and exit codes.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "base/result.h"

namespace CLI {
class App;
}

namespace tfabric::perf {

enum class Check : std::uint8_t { none, once, all };

// Code 5 is tools::kOutputFailed; kInterrupted is what a shell reports of a process that SIGINT has ended.
enum ExitCode : int {
  kOk = 0,
  kWrongData = 1,
  kUsage = 2,
  kUnusable = 3,
  kTransport = 4,
  kInterrupted = 130
};

// Adds the subcommand to the program. When it has run, `exit_code` is an ExitCode. `ready` is asked before a
// server waits for its client: why tfabric could not be used now.
void add_perf(CLI::App& app, int& exit_code, std::function<Status()> ready);

// What each side chooses for itself.
struct LocalOptions {
  std::string plugin;  // empty: the installation's own
  std::optional<int> table_version;
  int device = 0;
  bool all_devices = false;  // instead of one
  bool verbose = false;      // prints the plugin's INFO lines as well
  std::chrono::milliseconds timeout{30000};
};

// What is measured. The client's options apply to both sides.
struct SweepOptions {
  std::uint64_t min_bytes = 8;
  std::uint64_t max_bytes = std::uint64_t{16} << 20;
  std::uint64_t factor = 4;
  std::uint64_t iterations = 0;  // per size and comm; 0: chosen by size
  std::uint64_t warmup = 0;      // 0: chosen by size, unless warmup_given
  bool warmup_given = false;
  std::chrono::seconds time{0};        // per size and kind of measurement; 0: `iterations` count
  std::chrono::seconds interval{0};    // between lines that show how a stream goes on; 0: none
  std::chrono::microseconds pause{0};  // between two round trips
  std::uint32_t comms = 1;
  bool comms_given = false;  // else there is one for each device at least
  std::uint32_t inflight = 8;
  bool bidirectional = false;
  Check check = Check::once;
  std::string json_file;    // empty: none; "-": standard output, instead of the table
  std::string server_host;  // for the report; empty: this one
};

}  // namespace tfabric::perf
