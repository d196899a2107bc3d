// bench_comms: what comms cost that do nothing. One process opens pairs of comms to itself through a plugin,
// as an all-to-all of many ranks does of which few are busy, and reports the memory and the time of a pair,
// and what one busy pair is worth before and with all of them.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <array>
#include <chrono>
#include <cstddef>
#include <cstdio>
#include <fstream>
#include <string>
#include <vector>

#include "base/result.h"
#include "base/time.h"
#include "tools/plugin_loader.h"

namespace tfabric::bench {
namespace {

constexpr auto kPatience = std::chrono::seconds(60);

struct Pair {
  void* send = nullptr;
  void* receive = nullptr;
};

struct Report {
  double init_ms = 0;
  std::uint64_t before_kib = 0, after_kib = 0;  // resident
  double seconds = 0;                           // of making all pairs
  double alone_ns = 0, among_ns = 0;            // of a message of the busy pair
};

std::uint64_t resident_kib() {
  std::ifstream status("/proc/self/status");
  for (std::string word; status >> word;) {
    if (word == "VmRSS:") {
      std::uint64_t kib = 0;
      status >> kib;
      return kib;
    }
  }
  return 0;
}

// Opens `count` pairs, so many at a time.
Result<std::vector<Pair>> connect(tools::PluginLoader& plugin, std::size_t count) {
  std::vector<Pair> pairs(count);
  for (Pair& pair : pairs) {
    tools::PluginHandle handle{};
    auto listener = plugin.listen(0, handle);
    if (!listener) return listener.error();
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
  }
  return pairs;
}

Status finish(tools::PluginLoader& plugin, void* request) {
  for (;;) {
    auto done = plugin.test(request, nullptr);
    if (!done) return done.error();
    if (*done) return {};
  }
}

template <class Post>
Result<void*> insist(Post&& post) {
  for (;;) {
    auto request = post();
    if (!request || *request != nullptr) return request;
  }
}

// Nanoseconds of a message of 64 KiB.
Result<double> exchange(tools::PluginLoader& plugin, const Pair& pair) {
  constexpr std::size_t kSize = 65536;
  constexpr int kWarm = 500, kCount = 20000;
  std::vector<std::byte> from(kSize), to(kSize);
  auto from_memory = plugin.register_memory(pair.send, from.data(), kSize);
  if (!from_memory) return from_memory.error();
  auto to_memory = plugin.register_memory(pair.receive, to.data(), kSize);
  if (!to_memory) return to_memory.error();
  const std::array<tools::PluginReceive, 1> buffers{{{to.data(), kSize, 1, *to_memory}}};
  Instant began = monotonic_now();
  for (int i = 0; i < kWarm + kCount; ++i) {
    if (i == kWarm) began = monotonic_now();
    auto received = insist([&] { return plugin.irecv(pair.receive, buffers); });
    if (!received) return received.error();
    auto sent = insist([&] { return plugin.isend(pair.send, from.data(), kSize, 1, *from_memory); });
    if (!sent) return sent.error();
    if (Status done = finish(plugin, *received); !done) return done.error();
    if (Status done = finish(plugin, *sent); !done) return done.error();
  }
  const std::chrono::duration<double, std::nano> took = monotonic_now() - began;
  if (Status gone = plugin.deregister_memory(pair.send, *from_memory); !gone) return gone.error();
  if (Status gone = plugin.deregister_memory(pair.receive, *to_memory); !gone) return gone.error();
  return took.count() / kCount;
}

Status close(tools::PluginLoader& plugin, const std::vector<Pair>& pairs) {
  for (const Pair& pair : pairs) {
    if (Status closed = plugin.close_send(pair.send); !closed) return closed;
    if (Status closed = plugin.close_recv(pair.receive); !closed) return closed;
  }
  return {};
}

Result<Report> run(const std::string& path, std::size_t count) {
  auto plugin = tools::PluginLoader::open(path);
  if (!plugin) return plugin.error();
  Report report;
  Instant began = monotonic_now();
  const auto passed = [&began] { return std::chrono::duration<double>(monotonic_now() - began).count(); };
  if (Status ready = plugin->init({}); !ready) return ready.error();
  auto devices = plugin->devices();
  if (!devices) return devices.error();
  if (*devices == 0) return Error{Errc::unusable, "the plugin has no device here"};
  report.init_ms = 1000 * passed();
  auto busy = connect(*plugin, 1);
  if (!busy) return busy.error();
  auto alone = exchange(*plugin, busy->front());
  if (!alone) return alone.error();
  report.alone_ns = *alone;
  report.before_kib = resident_kib();
  began = monotonic_now();
  auto idle = connect(*plugin, count);
  if (!idle) return idle.error();
  report.seconds = passed();
  report.after_kib = resident_kib();
  auto among = exchange(*plugin, busy->front());
  if (!among) return among.error();
  report.among_ns = *among;
  if (Status closed = close(*plugin, *idle); !closed) return closed.error();
  if (Status closed = close(*plugin, *busy); !closed) return closed.error();
  if (Status ended = plugin->finalize(); !ended) return ended.error();
  return report;
}

}  // namespace
}  // namespace tfabric::bench

int main(int argc, char** argv) {
  CLI::App app(
      "Idle comms of a process to itself: their memory and set-up, and what one busy pair loses by them");
  std::string plugin = tfabric::tools::default_plugin_path();
  std::size_t count = 1000;
  app.add_option("--plugin", plugin, "the plugin library")->capture_default_str();
  app.add_option("--pairs", count, "pairs of a sending and a receiving comm")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  CLI11_PARSE(app, argc, argv);
  const auto report = tfabric::bench::run(plugin, count);
  if (!report) {
    fmt::print(stderr, "bench_comms: {}\n", report.error().message);
    return 1;
  }
  const double comms = 2.0 * static_cast<double>(count);
  fmt::print(
      "{{\"comms\": {:.0f}, \"init_ms\": {:.1f}, \"kib_per_comm\": {:.2f}, \"resident_mib\": {:.0f}, "
      "\"comms_per_s\": {:.0f}, \"busy_alone_ns\": {:.0f}, \"busy_among_ns\": {:.0f}}}\n",
      comms, report->init_ms, static_cast<double>(report->after_kib - report->before_kib) / comms,
      static_cast<double>(report->after_kib) / 1024, comms / report->seconds, report->alone_ns,
      report->among_ns);
  return 0;
}
