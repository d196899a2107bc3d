// `tfabric stat --serve` and `--hosts`: what a host's processes show, over the network.
#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

#include "tools/stat/selection.h"
#include "tools/stat/tables.h"

namespace tfabric::stat {

// Exit code: an address cannot be listened on, or a host did not answer.
inline constexpr int kUnreached = 4;

struct NetworkOptions {
  std::string serve_at;
  std::vector<std::string> hosts;
  const CLI::Option* serve = nullptr;  // whether it was given
};

// After the other options of the command, which `--serve` excludes, and `--hosts` those of other outputs.
void add_network_options(CLI::App& command, NetworkOptions& options);

// Serves until a signal ends it. Returns the exit code.
[[nodiscard]] int serve_pages(const NetworkOptions& options, const Selection& selection);

// What is shown, and how.
struct View {
  Selection selection;
  Level level = Level::rail;
  double interval = 1, stuck = 30;
  bool json = false, check = false, explain = false, log = false;
};
// Shows what the hosts' servers send. Returns the exit code.
[[nodiscard]] int show_hosts(const NetworkOptions& options, const View& view);

}  // namespace tfabric::stat
