// bench_segment: the work of a segment on each side. One process holds both ends of a wire, each in an engine
// of its own, and a stream goes from one to the other. Meant for callgrind (tests/bench/instructions), which
// counts the instructions of turn_sender() and turn_receiver(): the difference of two runs, by the difference
// of their segments. The engines' clock advances by the same time each turn, so that the count does not
// depend on the host.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstddef>
#include <cstdio>
#include <cstring>
#include <map>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "base/result.h"
#include "base/time.h"
#include "tests/bench/memif_port.h"
#include "transport/engine/progress.h"
#include "transport/rails/rail.h"
#include "transport/tcp/link/tcp.h"
#include "transport/tcp/nic/eal.h"

namespace tfabric::bench {

constexpr Duration kTurn = std::chrono::microseconds(20);
constexpr std::size_t kMessage = 1 << 20;
constexpr auto kPatience = std::chrono::seconds(30);

Instant engine_time = monotonic_now();

[[gnu::noinline]] bool turn_sender(engine::Engine& engine) { return engine.turn(); }
[[gnu::noinline]] bool turn_receiver(engine::Engine& engine) { return engine.turn(); }

namespace {

// Copies what arrives to its place, as a comm does.
struct Receiver final : engine::FlowHandler, engine::Acceptor {
  std::size_t on_data(engine::Flow&, std::span<const std::byte> bytes) override {
    const std::size_t taken = std::min(bytes.size(), place.size() - at);
    std::memcpy(&place[at], bytes.data(), taken);
    at = (at + taken) % place.size();
    received += taken;
    return taken;
  }
  void on_progress(engine::Flow&) override {}
  void on_failed(engine::Flow&, stack::ConnectionError) override { failed = true; }
  bool on_connection(engine::Flow& flow) override {
    flow.set_handler(this, 0);
    return true;
  }
  std::vector<std::byte> place = std::vector<std::byte>(kMessage);
  std::size_t at = 0;
  std::uint64_t received = 0;
  bool failed = false;
};

struct Sender final : engine::FlowHandler {
  std::size_t on_data(engine::Flow&, std::span<const std::byte> bytes) override { return bytes.size(); }
  void on_progress(engine::Flow&) override {}
  void on_failed(engine::Flow&, stack::ConnectionError) override { failed = true; }
  bool failed = false;
};

struct Wire {
  config::RailKind sender = config::RailKind::vhost, receiver = config::RailKind::virtio_user;
};

const std::map<std::string, Wire> kWires{
    {"memif", {.sender = config::RailKind::memif, .receiver = config::RailKind::memif}},
    // A virtual machine's NIC sends to its hypervisor.
    {"virtio", {.sender = config::RailKind::virtio_user, .receiver = config::RailKind::vhost}},
    {"vhost", {.sender = config::RailKind::vhost, .receiver = config::RailKind::virtio_user}},
};

struct Settings {
  std::string wire = "vhost";
  std::uint32_t mtu = 1500;
  bool tso = false;
  std::uint64_t messages = 16;
};

struct End {
  explicit End(const char* own) : address(own), engine(options()) {}
  ~End() {
    if (rail != nullptr) engine.lock().unlock();
  }
  End(const End&) = delete;
  End& operator=(const End&) = delete;

  static engine::EngineOptions options() {
    engine::EngineOptions options;
    options.clock = [] { return engine_time; };
    return options;
  }
  Status open(config::RailKind kind, config::MemifRole role, const std::string& device,
              const Settings& settings) {
    const link::Options defaults;
    link::Tcp* const engines[] = {&tcp};
    auto rails = rails::open_rail({.name = address,
                                   .kind = kind,
                                   .device = device,
                                   .role = role,
                                   .addresses = {address + "/24"},
                                   .mtu = settings.mtu,
                                   .tso = settings.tso},
                                  engines, link::PortMap(defaults.first_port, defaults.ports, 1, tcp.port()));
    if (!rails) return rails.error();
    rail = std::move(rails->front());
    engine.lock().lock();
    return {};
  }

  std::string address;
  engine::Engine engine;
  link::Tcp& tcp = link::add_tcp(engine, {});
  std::unique_ptr<rails::Rail> rail;
};

struct Pair {
  End sender{"10.78.0.2"}, receiver{"10.78.0.1"};
  Receiver sink;
  Sender source;

  // Turns both ends until `done`. Returns false if that takes too long.
  template <class Done>
  bool until(const Done& done) {
    const Instant deadline = monotonic_now() + kPatience;
    for (int turns = 0; !failed() && !done(); ++turns) {
      if (turns % 1024 == 0 && monotonic_now() > deadline) return false;
      turn_sender(sender.engine);
      turn_receiver(receiver.engine);
      engine_time += kTurn;
    }
    return !failed();
  }
  // Waits until the wire's ends have found each other, which they do on a thread of their own. Not counted.
  bool link_up() {
    const Instant deadline = monotonic_now() + kPatience;
    while (!sender.rail->network()->link_up() || !receiver.rail->network()->link_up()) {
      if (monotonic_now() > deadline) return false;
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    return true;
  }
  [[nodiscard]] bool failed() const { return source.failed || sink.failed; }
};

Status run(const Settings& settings) {
  if (Status started = nic::start_eal({.memory_mib = 512}); !started) return started;
  const SocketFolder folder;
  if (!folder.made()) return Error{Errc::system, "no folder for the wire's socket"};
  const std::string device = folder.socket();
  const Wire wire = kWires.at(settings.wire);
  Pair pair;
  pair.receiver.engine.set_acceptor(&pair.sink);
  // The end that makes the socket comes first.
  End& first = wire.receiver == config::RailKind::virtio_user ? pair.sender : pair.receiver;
  End& second = &first == &pair.sender ? pair.receiver : pair.sender;
  const auto kind = [&](const End& end) { return &end == &pair.sender ? wire.sender : wire.receiver; };
  if (Status open = first.open(kind(first), config::MemifRole::server, device, settings); !open) return open;
  if (Status open = second.open(kind(second), config::MemifRole::client, device, settings); !open)
    return open;

  if (!pair.link_up()) return Error{Errc::remote, "the ends of the wire do not find each other"};

  const auto peer = pair.receiver.rail->address();
  lane::StreamCarrier& carrier = *pair.sender.rail->way_to(peer, 0)->carrier;
  engine::Flow* made = carrier.connect(peer, pair.receiver.tcp.port(), &pair.source, 0);
  if (made == nullptr) return Error{Errc::unusable, "no flow"};
  auto& flow = static_cast<link::TcpFlow&>(*made);
  if (!pair.until([&] { return flow.connection().established(); })) {
    return Error{Errc::remote, "the ends of the wire do not connect"};
  }
  const link::Link& in = *pair.receiver.rail->network();
  const std::uint64_t before = in.counters().rx_bytes, packets_before = in.counters().rx_packets;
  const std::vector<std::byte> message(kMessage, std::byte{'m'});
  for (std::uint64_t i = 1; i <= settings.messages; ++i) {
    if (!flow.connection().send({.data = message.data(), .size = kMessage})) {
      return Error{Errc::internal, "the send queue is full"};
    }
    pair.sender.tcp.wake(flow);
    const auto all_acknowledged = [&] {
      return pair.sink.received == i * kMessage &&
             flow.connection().info().snd_una == flow.connection().info().snd_nxt;
    };
    if (!pair.until(all_acknowledged)) return Error{Errc::remote, "the stream stands still"};
  }
  fmt::print("{{\"bytes\": {}, \"segments\": {}, \"packets\": {}, \"retransmitted\": {}}}\n",
             in.counters().rx_bytes - before, settings.messages * kMessage / flow.connection().info().mss,
             in.counters().rx_packets - packets_before, flow.connection().info().bytes_retransmitted);
  return {};
}

}  // namespace
}  // namespace tfabric::bench

int main(int argc, char** argv) {
  CLI::App app("A stream between two engines of one process, for callgrind");
  tfabric::bench::Settings settings;
  app.add_option("--wire", settings.wire, "memif, virtio (the sender's end), vhost")
      ->check(CLI::IsMember(tfabric::bench::kWires))
      ->capture_default_str();
  app.add_option("--mtu", settings.mtu, "of both ends")
      ->check(CLI::Range(1280, 16000))
      ->capture_default_str();
  app.add_flag("--tso", settings.tso, "let the driver segment");
  app.add_option("--messages", settings.messages, "of 1 MiB")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  CLI11_PARSE(app, argc, argv);
  if (const tfabric::Status done = tfabric::bench::run(settings); !done) {
    fmt::print(stderr, "bench_segment: {}\n", done.error().message);
    return 1;
  }
  return 0;
}
