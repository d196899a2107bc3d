// bench_message: the work of small messages, without a peer to wait for: one process sends to itself through
// a plugin, each message from isend to both tests. Meant for callgrind, which counts instructions: the
// difference of two runs, by the difference of their --count, is the cost of one message on both sides, and
// by that of their --vain, the cost of a test, and of its turn, in which nothing comes.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <cstddef>
#include <cstdio>
#include <string>

#include "tests/bench/self_pair.h"

namespace tfabric::bench {
namespace {

Status run(const std::string& path, std::size_t size, std::uint64_t count, std::uint64_t vain) {
  auto plugin = open_plugin(path);
  if (!plugin) return plugin.error();
  auto pair = connect_to_itself(*plugin);
  if (!pair) return pair.error();
  auto each = exchange(*plugin, *pair, size, count, 0, vain);
  if (!each) return each.error();
  fmt::print("{{\"messages\": {}, \"size\": {}, \"ns_per_message\": {:.1f}}}\n", count, size, *each);
  if (Status closed = close(*plugin, *pair); !closed) return closed;
  return plugin->finalize();
}

}  // namespace
}  // namespace tfabric::bench

int main(int argc, char** argv) {
  CLI::App app("Small messages of a process to itself, for callgrind");
  std::string plugin = tfabric::tools::default_plugin_path();
  std::size_t size = 8;
  std::uint64_t count = 100000, vain = 0;
  app.add_option("--plugin", plugin, "the plugin library")->capture_default_str();
  app.add_option("--size", size, "bytes of a message")->check(CLI::Range(1, 1 << 20))->capture_default_str();
  app.add_option("--count", count, "messages")->check(CLI::PositiveNumber)->capture_default_str();
  app.add_option("--vain", vain,
                 "tests of each receive before its message is sent: the cost of a turn in vain");
  CLI11_PARSE(app, argc, argv);
  if (const tfabric::Status done = tfabric::bench::run(plugin, size, count, vain); !done) {
    fmt::print(stderr, "bench_message: {}\n", done.error().message);
    return 1;
  }
  return 0;
}
