// bench_flood: how much throughput of established traffic a flood costs. Two engines in two processes over
// one DPDK memif pair; the child sends a stream as fast as it goes and, in every other slice of time, hostile
// frames beside it. Prints for each kind of flood the throughput with it, and its ratio to the slices
// without.
//
// Making the hostile frames costs the sending process as well, which the ratio includes.
#include <fmt/format.h>
#include <sched.h>
#include <sys/wait.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <array>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include "base/time.h"
#include "tests/bench/memif_port.h"
#include "tests/unit/link/attacker.h"
#include "transport/tcp/link/tcp.h"

namespace tfabric::bench {
namespace {

using link::test::Attacker;
using link::test::Flood;

constexpr std::uint16_t kPort = 4000;
constexpr unsigned kSeed = 20261121;
constexpr Duration kSlice = std::chrono::milliseconds(100);
constexpr std::uint32_t kPiece = 1 << 20;
const net::IpAddress kVictim = net::IpAddress::v4({10, 77, 0, 1});
const net::IpAddress kSender = net::IpAddress::v4({10, 77, 0, 2});
const net::MacAddress kVictimMac{{2, 0, 0, 0, 0, 1}}, kSenderMac{{2, 0, 0, 0, 0, 2}};

struct Options {
  std::uint32_t frame = 9014;
  double seconds = 2;  // of each kind of flood
  double rate = 100'000;
  std::string socket;
};

// Accepts everything.
struct Sink final : engine::FlowHandler, engine::Acceptor {
  bool on_connection(engine::Flow& flow) override {
    flow.set_handler(this, 0);
    return true;
  }
  std::size_t on_data(engine::Flow& /*flow*/, std::span<const std::byte> bytes) override {
    return bytes.size();
  }
  void on_progress(engine::Flow& /*flow*/) override {}
  void on_failed(engine::Flow& /*flow*/, stack::ConnectionError /*error*/) override { failed = true; }
  bool failed = false;
};

// An engine with one link to the other process, held by this thread.
struct Host {
  Host(std::unique_ptr<nic::Port> port, const Options& options, bool victim) {
    engine.lock().lock();
    auto made = std::make_unique<link::Link>(
        std::move(port),
        net::InterfaceConfig{.name = "bench",
                             .mac = victim ? kVictimMac : kSenderMac,
                             .mtu = static_cast<std::uint16_t>(options.frame - 14),
                             .addresses = {{victim ? kVictim : kSender, 24}},
                             .point_to_point = true,
                             .trusted_wire = true},
        link::LinkOptions{.transmit_by_reference = true});
    link = made.get();
    tcp.add_link(std::move(made));
    engine.set_acceptor(&sink);
  }
  ~Host() {
    engine.drain_payload();
    engine.lock().unlock();
  }
  Host(const Host&) = delete;
  Host& operator=(const Host&) = delete;

  void turn() {
    if (!engine.turn()) {
      sched_yield();
    }
  }

  Sink sink;
  engine::Engine engine{engine::EngineOptions{}};
  link::Tcp& tcp = link::add_tcp(engine, {.port = kPort});
  link::Link* link = nullptr;
};

class Sender {
 public:
  Sender(Host& host, link::TcpFlow& flow, const Options& options)
      : host_(&host),
        flow_(&flow),
        rate_(options.rate),
        attacker_(*host.link,
                  {.mac = kVictimMac,
                   .address = kVictim,
                   .peer = kSender,
                   .ports = {kPort, flow.key().ports.local},
                   .listening_port = kPort},
                  kSeed),
        buffer_(kPiece) {}

  // Sends for a slice of time, with the flood if there is one; returns bytes a second.
  double slice(const Flood* flood) {
    const std::uint64_t before = flow_->connection().stream_acked();
    const Instant start = monotonic_now();
    double hostile = 0;
    Instant now = start;
    for (; now - start < kSlice; now = monotonic_now()) {
      while (flow_->connection().send({buffer_.data(), kPiece, nullptr})) {
        host_->tcp.wake(*flow_);
      }
      if (flood != nullptr) {
        const stack::ConnectionInfo info = flow_->connection().info();
        for (const double due = rate_ * seconds(now - start); hostile < due; hostile += 1) {
          if (!host_->link->has_room()) {
            host_->link->flush();
          }
          attacker_.send(*flood, info.snd_nxt, info.rcv_nxt);
        }
      }
      host_->turn();
    }
    return static_cast<double>(flow_->connection().stream_acked() - before) / seconds(now - start);
  }

 private:
  static double seconds(Duration time) { return std::chrono::duration<double>(time).count(); }

  Host* host_;
  link::TcpFlow* flow_;
  double rate_;
  Attacker attacker_;
  std::vector<std::byte> buffer_;
};

void measure(Sender& sender, Flood flood, const Options& options, const Sink& sink) {
  const int slices =
      std::max(1, static_cast<int>(options.seconds / std::chrono::duration<double>(kSlice).count()));
  double alone = 0, flooded = 0;
  for (int i = 0; i < slices && !sink.failed; ++i) {
    alone += sender.slice(nullptr);
    flooded += sender.slice(&flood);
  }
  fmt::print("{:<12} {:6.2f} Gbit/s alone {:6.2f} Gbit/s flooded  ratio {:.3f}\n", to_string(flood),
             alone * 8e-9 / slices, flooded * 8e-9 / slices, flooded / alone);
  std::fflush(stdout);
}

int fail(const Error& error) {
  fmt::print(stderr, "bench_flood: {}\n", error.message);
  return 4;
}

int run_sender(const Options& options) {
  auto port = open_memif_port(options.socket, /*server=*/false, options.frame);
  if (!port) {
    return fail(port.error());
  }
  Host host(std::move(*port), options, /*victim=*/false);
  link::TcpFlow* flow = host.tcp.connect(*host.link, kVictim, kPort, &host.sink, 0);
  while (!flow->connection().established() && !host.sink.failed) {
    host.turn();
  }
  Sender sender(host, *flow, options);
  static_cast<void>(sender.slice(nullptr));  // warms up
  fmt::print("frames of {} bytes, {:.0f} hostile frames a second\n", options.frame, options.rate);
  for (const Flood flood :
       {Flood::syns, Flood::guesses, Flood::unknown, Flood::garbage, Flood::errors, Flood::all}) {
    measure(sender, flood, options, host.sink);
  }
  if (host.sink.failed) {
    return fail({Errc::remote, "the established connection was lost"});
  }
  host.tcp.abort(*flow);
  host.engine.turn();
  return 0;
}

int run_victim(const Options& options, pid_t sender) {
  auto port = open_memif_port(options.socket, /*server=*/true, options.frame);
  if (!port) {
    kill(sender, SIGKILL);
    return fail(port.error());
  }
  Host host(std::move(*port), options, /*victim=*/true);
  int status = 0;
  while (waitpid(sender, &status, WNOHANG) == 0) {
    for (int i = 0; i < 1000; ++i) {
      host.turn();
    }
  }
  const link::Counters& counters = host.tcp.all_counters();
  fmt::print("victim: {} flows, {} cookies given, {} refused\n", host.engine.flows(), counters.cookies_sent,
             counters.cookies_refused);
  return WIFEXITED(status) ? WEXITSTATUS(status) : 4;
}

int run(Options options) {
  const SocketFolder folder;
  if (!folder.made()) {
    return fail({Errc::system, "cannot make a temporary folder"});
  }
  options.socket = folder.socket();
  const pid_t sender = fork();
  if (sender == 0) {
    _exit(run_sender(options));
  }
  return sender > 0 ? run_victim(options, sender) : fail({Errc::system, "fork failed"});
}

}  // namespace
}  // namespace tfabric::bench

int main(int argc, char** argv) {
  tfabric::bench::Options options;
  CLI::App app("What floods take from established traffic over a DPDK memif pair");
  app.add_option("--frame", options.frame, "bytes of a frame, with its Ethernet header")
      ->check(CLI::Range(1014, 60000))
      ->capture_default_str();
  app.add_option("--seconds", options.seconds, "how long each kind of flood is measured")
      ->check(CLI::Range(0.1, 60.0))
      ->capture_default_str();
  app.add_option("--rate", options.rate, "hostile frames a second")
      ->check(CLI::Range(1.0, 1e8))
      ->capture_default_str();
  CLI11_PARSE(app, argc, argv);
  return tfabric::bench::run(options);
}
