// bench_message: the work of small messages, without a peer to wait for: one process sends to itself through
// a plugin, each message from isend to both tests. Meant for callgrind, which counts instructions: the
// difference of two runs, by the difference of their --count, is the cost of one message on both sides.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <array>
#include <chrono>
#include <cstddef>
#include <cstdio>
#include <string>
#include <vector>

#include "base/result.h"
#include "base/time.h"
#include "tools/plugin_loader.h"

namespace tfabric::bench {
namespace {

constexpr auto kPatience = std::chrono::seconds(15);

struct Pair {
  void* send = nullptr;
  void* receive = nullptr;
};

Result<Pair> connect_to_itself(tools::PluginLoader& plugin) {
  tools::PluginHandle handle{};
  auto listener = plugin.listen(0, handle);
  if (!listener) return listener.error();
  Pair pair;
  const Instant deadline = monotonic_now() + kPatience;
  while (pair.send == nullptr || pair.receive == nullptr) {
    if (monotonic_now() > deadline) return Error{Errc::remote, "the process cannot connect to itself"};
    if (pair.send == nullptr) {
      auto send = plugin.connect(0, handle);
      if (!send) return send.error();
      pair.send = *send;
    }
    if (pair.receive == nullptr) {
      auto receive = plugin.accept(*listener);
      if (!receive) return receive.error();
      pair.receive = *receive;
    }
  }
  if (Status closed = plugin.close_listen(*listener); !closed) return closed.error();
  return pair;
}

Status finish(tools::PluginLoader& plugin, void* request) {
  for (;;) {
    auto done = plugin.test(request, nullptr);
    if (!done) return done.error();
    if (*done) return {};
  }
}

// Repeats a call until the plugin accepts it: it may refuse while the two ends are connecting, or until the
// receive is announced.
template <class Post>
Result<void*> insist(Post&& post) {
  for (;;) {
    auto request = post();
    if (!request || *request != nullptr) return request;
  }
}

Status exchange(tools::PluginLoader& plugin, const Pair& pair, std::size_t size, std::uint64_t count) {
  std::vector<std::byte> from(size), to(size);
  auto from_memory = plugin.register_memory(pair.send, from.data(), size);
  if (!from_memory) return from_memory.error();
  auto to_memory = plugin.register_memory(pair.receive, to.data(), size);
  if (!to_memory) return to_memory.error();
  const std::array<tools::PluginReceive, 1> buffers{{{to.data(), size, 1, *to_memory}}};
  for (std::uint64_t i = 0; i < count; ++i) {
    auto received = insist([&] { return plugin.irecv(pair.receive, buffers); });
    if (!received) return received.error();
    auto sent = insist([&] { return plugin.isend(pair.send, from.data(), size, 1, *from_memory); });
    if (!sent) return sent.error();
    if (Status done = finish(plugin, *received); !done) return done;
    if (Status done = finish(plugin, *sent); !done) return done;
  }
  if (Status gone = plugin.deregister_memory(pair.send, *from_memory); !gone) return gone;
  return plugin.deregister_memory(pair.receive, *to_memory);
}

Status run(const std::string& path, std::size_t size, std::uint64_t count) {
  auto plugin = tools::PluginLoader::open(path);
  if (!plugin) return plugin.error();
  if (Status ready = plugin->init({}); !ready) return ready;
  auto devices = plugin->devices();
  if (!devices) return devices.error();
  if (*devices == 0) return Error{Errc::unusable, "the plugin has no device here"};
  auto pair = connect_to_itself(*plugin);
  if (!pair) return pair.error();
  const Instant began = monotonic_now();
  if (Status done = exchange(*plugin, *pair, size, count); !done) return done;
  const std::chrono::duration<double, std::nano> took = monotonic_now() - began;
  fmt::print("{{\"messages\": {}, \"size\": {}, \"ns_per_message\": {:.1f}}}\n", count, size,
             took.count() / static_cast<double>(count));
  if (Status closed = plugin->close_send(pair->send); !closed) return closed;
  if (Status closed = plugin->close_recv(pair->receive); !closed) return closed;
  return plugin->finalize();
}

}  // namespace
}  // namespace tfabric::bench

int main(int argc, char** argv) {
  CLI::App app("Small messages of a process to itself, for callgrind");
  std::string plugin = tfabric::tools::default_plugin_path();
  std::size_t size = 8;
  std::uint64_t count = 100000;
  app.add_option("--plugin", plugin, "the plugin library")->capture_default_str();
  app.add_option("--size", size, "bytes of a message")->check(CLI::Range(1, 1 << 20))->capture_default_str();
  app.add_option("--count", count, "messages")->check(CLI::PositiveNumber)->capture_default_str();
  CLI11_PARSE(app, argc, argv);
  if (const tfabric::Status done = tfabric::bench::run(plugin, size, count); !done) {
    fmt::print(stderr, "bench_message: {}\n", done.error().message);
    return 1;
  }
  return 0;
}
