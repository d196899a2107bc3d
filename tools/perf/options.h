// What the user asked of `tfabric perf`, and what of it travels to the other side.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>

namespace tfabric::perf {

enum class Check : std::uint8_t { none, once, all };

// Exit codes of `tfabric perf`.
enum ExitCode : int { kOk = 0, kWrongData = 1, kUsage = 2, kUnusable = 3, kTransport = 4 };

// What each side chooses for itself.
struct LocalOptions {
  std::string plugin;  // empty: the installation's own
  std::optional<int> table_version;
  int device = 0;
  bool verbose = false;  // the plugin's INFO lines too
  std::chrono::milliseconds timeout{30000};
};

// What is measured; the client's choice counts for both sides.
struct SweepOptions {
  std::uint64_t min_bytes = 8;
  std::uint64_t max_bytes = std::uint64_t{16} << 20;
  std::uint64_t factor = 4;
  std::uint64_t iterations = 0;  // a size and comm; 0: by size
  std::uint64_t warmup = 0;      // 0: by size
  bool warmup_given = false;
  std::uint32_t comms = 1;
  std::uint32_t inflight = 8;
  bool bidirectional = false;
  Check check = Check::once;
  std::string json_file;  // empty: none; "-": stdout instead of the table
};

}  // namespace tfabric::perf
