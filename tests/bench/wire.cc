// bench_wire: the limits of the wire below tfabric. Two processes exchange bare packets over one wire through
// shared memory, with the library's own port layer and nothing above it: no protocol, no copy to a user's
// buffer.
//
// The parent receives and prints one JSON object; the child (this program again) sends. First a stream for
// --seconds, timed on the receiver from its first packet to its last, then a ping-pong of packets.
#include <fcntl.h>
#include <fmt/format.h>
#include <rte_mbuf.h>
#include <sched.h>
#include <sys/wait.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "base/result.h"
#include "base/time.h"
#include "tools/perf/report.h"
#include "transport/tcp/nic/eal.h"
#include "transport/tcp/nic/port.h"
#include "transport/tcp/nic/shared_wire.h"

namespace tfabric::bench {
namespace {

constexpr std::size_t kBurst = 32;
constexpr unsigned kPings = 20000;
constexpr auto kPatience = std::chrono::seconds(15);
// The kinds of frame, in the byte behind the Ethernet header.
enum class Kind : std::uint8_t { stream = 1, last = 2, ping = 3 };
constexpr std::size_t kKindOffset = 14;
// Where the child finds the wire's memory.
constexpr int kMemory = 3;

struct Options {
  std::uint32_t frame = 9014;
  double seconds = 2;
  std::string role = "parent";
};

// What the sending side reports through its standard output.
struct SenderReport {
  double cpu_seconds = 0;
  std::uint64_t packets = 0;
};

Result<std::unique_ptr<nic::Port>> open_port(std::shared_ptr<nic::SharedWire> wire, const Options& options) {
  nic::EalOptions eal;
  eal.memory_mib = 512;
  if (auto started = nic::start_eal(eal); !started) return started.error();
  return nic::Port::open({.name = "bench",
                          .device = {},
                          .pipes = {std::move(wire)},
                          .mtu = static_cast<std::uint16_t>(options.frame - kKindOffset)});
}

rte_mbuf* make_frame(nic::Port& port, std::uint32_t size, Kind kind) {
  rte_mbuf* const frame = rte_pktmbuf_alloc(port.rx_pool().get());
  if (frame == nullptr) return nullptr;
  char* const data = rte_pktmbuf_append(frame, static_cast<std::uint16_t>(size));
  if (data == nullptr) {
    rte_pktmbuf_free(frame);
    return nullptr;
  }
  data[kKindOffset] = static_cast<char>(kind);
  return frame;
}

Kind kind_of(const rte_mbuf* frame) {
  return static_cast<Kind>(*rte_pktmbuf_mtod_offset(frame, const std::uint8_t*, kKindOffset));
}

Status send_one(nic::Port& port, std::uint32_t size, Kind kind) {
  const Instant deadline = monotonic_now() + kPatience;
  rte_mbuf* frame = nullptr;
  while ((frame = make_frame(port, size, kind)) == nullptr) port.reclaim();
  while (port.transmit({&frame, 1}) == 0) {
    sched_yield();
    if (monotonic_now() > deadline) {
      rte_pktmbuf_free(frame);
      return Error{Errc::remote, "the other process takes no packets"};
    }
  }
  return {};
}

// Waits for the next packet and frees it.
Result<Kind> receive_one(nic::Port& port) {
  const Instant deadline = monotonic_now() + kPatience;
  rte_mbuf* frame = nullptr;
  while (port.receive({&frame, 1}) == 0) {
    port.reclaim();
    sched_yield();
    if (monotonic_now() > deadline) return Error{Errc::remote, "no packet came from the other process"};
  }
  const Kind kind = kind_of(frame);
  rte_pktmbuf_free(frame);
  return kind;
}

SenderReport send_stream(nic::Port& port, const Options& options) {
  SenderReport report;
  const double cpu_start = perf::process_cpu_seconds();
  const Instant end =
      monotonic_now() + std::chrono::duration_cast<Duration>(std::chrono::duration<double>(options.seconds));
  std::array<rte_mbuf*, kBurst> burst{};
  std::size_t held = 0;
  while (monotonic_now() < end) {
    while (held < kBurst && (burst[held] = make_frame(port, options.frame, Kind::stream)) != nullptr) ++held;
    const std::size_t sent = port.transmit({burst.data(), held});
    if (sent == 0) {
      port.reclaim();
      sched_yield();
    }
    std::move(burst.begin() + static_cast<std::ptrdiff_t>(sent),
              burst.begin() + static_cast<std::ptrdiff_t>(held), burst.begin());
    held -= sent;
    report.packets += sent;
  }
  rte_pktmbuf_free_bulk(burst.data(), static_cast<unsigned>(held));
  report.cpu_seconds = perf::process_cpu_seconds() - cpu_start;
  return report;
}

Status run_child(const Options& options) {
  auto wire = nic::SharedWire::join(Descriptor(kMemory));
  if (!wire) return wire.error();
  auto port = open_port(std::move(*wire), options);
  if (!port) return port.error();
  const auto report = send_stream(**port, options);
  if (auto sent = send_one(**port, options.frame, Kind::last); !sent) return sent;
  for (unsigned i = 0; i < kPings; ++i) {
    if (auto ping = receive_one(**port); !ping) return ping.error();
    if (auto pong = send_one(**port, 64, Kind::ping); !pong) return pong;
  }
  fmt::print("{} {}\n", report.cpu_seconds, report.packets);
  std::fflush(stdout);
  return {};
}

struct StreamReport {
  std::uint64_t packets = 0;
  double seconds = 0;
  double cpu_seconds = 0;
};

Result<StreamReport> receive_stream(nic::Port& port) {
  StreamReport report;
  Instant first{};
  double cpu_start = 0;
  bool last = false;
  Instant deadline = monotonic_now() + kPatience;
  std::array<rte_mbuf*, kBurst> burst{};
  while (!last) {
    const std::uint16_t count = port.receive(burst);
    if (count == 0) {
      sched_yield();
      if (monotonic_now() > deadline) return Error{Errc::remote, "the sender has fallen silent"};
      continue;
    }
    deadline = monotonic_now() + kPatience;
    if (report.packets == 0) {
      first = monotonic_now();
      cpu_start = perf::process_cpu_seconds();
    }
    last = kind_of(burst[count - 1]) == Kind::last;
    report.packets += count;
    rte_pktmbuf_free_bulk(burst.data(), count);
  }
  report.seconds = std::chrono::duration<double>(monotonic_now() - first).count();
  report.cpu_seconds = perf::process_cpu_seconds() - cpu_start;
  return report;
}

Result<std::vector<std::uint64_t>> ping_pong(nic::Port& port) {
  std::vector<std::uint64_t> round_trips;
  for (unsigned i = 0; i < kPings; ++i) {
    const Instant start = monotonic_now();
    if (auto ping = send_one(port, 64, Kind::ping); !ping) return ping.error();
    if (auto pong = receive_one(port); !pong) return pong.error();
    round_trips.push_back(static_cast<std::uint64_t>((monotonic_now() - start).count()));
  }
  return round_trips;
}

// The child with its standard output in `output`.
Result<pid_t> start_child(const Options& options, const Descriptor& memory, int& output) {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) return Error{Errc::system, "pipe failed"};
  std::vector<std::string> arguments = {"bench_wire",
                                        "--role",
                                        "child",
                                        "--frame",
                                        std::to_string(options.frame),
                                        "--seconds",
                                        std::to_string(options.seconds)};
  std::vector<char*> argv;
  argv.reserve(arguments.size() + 1);
  for (auto& argument : arguments) argv.push_back(argument.data());
  argv.push_back(nullptr);
  const pid_t pid = fork();
  if (pid == 0) {
    dup2(ends[1], STDOUT_FILENO);
    dup2(memory.get(), kMemory);
    fcntl(kMemory, F_SETFD, 0);  // if it had that number already, dup2() has left it close-on-exec
    execv("/proc/self/exe", argv.data());
    _exit(127);
  }
  close(ends[1]);
  output = ends[0];
  if (pid < 0) return Error{Errc::system, fmt::format("fork: {}", std::strerror(errno))};
  return pid;
}

Result<SenderReport> finish_child(pid_t pid, int output) {
  std::array<char, 256> text{};
  std::size_t length = 0;
  for (ssize_t n = 1; n > 0 && length < text.size() - 1;) {
    n = read(output, text.data() + length, text.size() - 1 - length);
    length += n > 0 ? static_cast<std::size_t>(n) : 0;
  }
  close(output);
  int status = 0;
  waitpid(pid, &status, 0);
  SenderReport report;
  unsigned long packets = 0;
  if (!WIFEXITED(status) || WEXITSTATUS(status) != 0 ||
      std::sscanf(text.data(), "%lf %lu", &report.cpu_seconds, &packets) != 2) {
    return Error{Errc::remote, "the sending process failed"};
  }
  report.packets = packets;
  return report;
}

Result<nlohmann::json> measure(std::shared_ptr<nic::SharedWire> wire, const Options& options) {
  auto port = open_port(std::move(wire), options);
  if (!port) return port.error();
  const auto stream = receive_stream(**port);
  if (!stream) return stream.error();
  auto round_trips = ping_pong(**port);
  if (!round_trips) return round_trips.error();
  const double bytes = static_cast<double>(stream->packets) * options.frame;
  const auto latency = perf::half_round_trips(std::move(*round_trips));
  return nlohmann::json{
      {"frame", options.frame},
      {"gbit_per_s", bytes * 8e-9 / stream->seconds},
      {"packets_per_s", static_cast<double>(stream->packets) / stream->seconds},
      {"receiver_cpu_s_per_gb", stream->cpu_seconds / (bytes * 1e-9)},
      {"half_round_trip_us", {{"min", latency.min_us}, {"p50", latency.p50_us}, {"p99", latency.p99_us}}}};
}

int fail(const Error& error) {
  fmt::print(stderr, "bench_wire: {}\n", error.message);
  return 4;
}

int report(std::shared_ptr<nic::SharedWire> wire, const Options& options, pid_t child, int output) {
  auto measured = measure(std::move(wire), options);
  if (!measured) kill(child, SIGKILL);
  const auto sender = finish_child(child, output);
  if (!measured) return fail(measured.error());
  if (!sender) return fail(sender.error());
  const double sent_gb = static_cast<double>(sender->packets) * options.frame * 1e-9;
  (*measured)["sender_cpu_s_per_gb"] = sender->cpu_seconds / sent_gb;
  fmt::print("{}\n", measured->dump(2));
  return 0;
}

int run_parent(const Options& options) {
  auto made = nic::SharedWire::make();
  if (!made) return fail(made.error());
  int output = -1;
  const auto child = start_child(options, made->memory, output);
  return child ? report(std::move(made->wire), options, *child, output) : fail(child.error());
}

}  // namespace
}  // namespace tfabric::bench

int main(int argc, char** argv) {
  tfabric::bench::Options options;
  CLI::App app("Bare packets between two processes through shared memory");
  app.add_option("--frame", options.frame, "bytes of a frame, with its Ethernet header")
      ->check(CLI::Range(64, 60000))
      ->capture_default_str();
  app.add_option("--seconds", options.seconds, "how long to send")
      ->check(CLI::Range(0.1, 60.0))
      ->capture_default_str();
  app.add_option("--role", options.role)->group("");
  CLI11_PARSE(app, argc, argv);
  if (options.role == "parent") return tfabric::bench::run_parent(options);
  const auto sent = tfabric::bench::run_child(options);
  return sent ? 0 : tfabric::bench::fail(sent.error());
}
