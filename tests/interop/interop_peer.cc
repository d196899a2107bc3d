// Our end of an interop stream: a byte stream over the engine, without messages, on a TAP, AF_PACKET or
// AF_XDP rail, with any TCP as its peer. It follows a script (script.h), and prints a JSON object as its last
// line.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <map>
#include <string>
#include <thread>
#include <vector>

#include "base/log.h"
#include "tests/interop/scripted_flow.h"
#include "transport/rails/nic_rail.h"
#include "transport/tcp/link/tcp.h"
#include "transport/tcp/nic/eal.h"

using namespace tfabric;
using namespace tfabric::interop;

namespace {

volatile std::sig_atomic_t interrupted = 0;

void log_to_stderr(log::Level level, log::Subsystem, const char*, int, std::string_view text) {
  if (level != log::Level::trace) {
    std::fprintf(stderr, "%.*s\n", static_cast<int>(text.size()), text.data());
  }
}

struct Arguments {
  config::Rail rail{.name = "interop", .kind = config::RailKind::af_packet};
  std::string connect_to;
  std::vector<std::string> script;
  std::uint16_t port = 5001;
  std::uint16_t engines = 1;  // the stream is in the first
  double timeout_s = 60;
  stack::Options tcp;
  std::uint32_t min_rto_ms = 200, user_timeout_ms = 120000, keepalive_idle_ms = 5000,
                keepalive_interval_ms = 1000;

  void finish() {
    using std::chrono::milliseconds;
    tcp.min_rto = milliseconds(min_rto_ms);
    tcp.max_rto = std::max(tcp.max_rto, tcp.min_rto);
    // Linux delays acknowledgements by up to 200 ms.
    tcp.max_ack_delay = tcp.rto_granularity = milliseconds(200);
    tcp.user_timeout = milliseconds(user_timeout_ms);
    tcp.keepalive_idle = milliseconds(keepalive_idle_ms);
    tcp.keepalive_interval = milliseconds(keepalive_interval_ms);
  }
};

int complain(const std::string& what) {
  std::fprintf(stderr, "our peer: %s\n", what.c_str());
  return 1;
}

struct Unit {
  engine::Engine engine;
  link::Tcp& tcp;
  Unit(std::uint16_t number, const link::Options& options)
      : engine({.number = number}), tcp(link::add_tcp(engine, options)) {}
};
using Engines = std::vector<std::unique_ptr<Unit>>;

Engines make_engines(const Arguments& arguments, const link::PortMap& ports) {
  Engines engines;
  for (std::uint16_t e = 0; e < arguments.engines; ++e) {
    link::Options options;
    options.port = ports.listening_of(e);
    options.listeners = arguments.engines;
    options.first_port = ports.first_of(e);
    options.ports = ports.count_of(e);
    options.tcp = arguments.tcp;
    engines.push_back(std::make_unique<Unit>(e, options));
  }
  return engines;
}

// To be called before the first engine is destroyed, since engines hold packets of each other's pools.
void halt(Engines& engines) {
  for (const auto& unit : engines) {
    const engine::Guard guard(unit->engine.lock());
    unit->engine.halt();
  }
}

// How packets have arrived, summed over all engines.
nlohmann::json exchange_of(const Engines& engines) {
  std::uint64_t own = 0, forwarded = 0, received = 0, dropped = 0, overheard = 0, tried = 0;
  for (const auto& unit : engines) {
    const link::Counters& counters = unit->tcp.all_counters();
    own += counters.exchange.own;
    forwarded += counters.exchange.forwarded;
    received += counters.exchange.received;
    dropped += counters.exchange.dropped;
    overheard += counters.exchange.overheard;
    tried += counters.ports_tried;
  }
  return {{"own", own},         {"forwarded", forwarded}, {"received", received},
          {"dropped", dropped}, {"overheard", overheard}, {"ports_tried", tried}};
}

// Turns the engines until the script is over and the connection, which ends by a handshake of its own, is
// closed.
void turn(const Engines& engines, ScriptedFlow& flow, const Arguments& arguments) {
  const Instant until = monotonic_now() + std::chrono::duration_cast<Duration>(
                                              std::chrono::duration<double>(arguments.timeout_s));
  // The other end, the wire and other tests need the CPU, too, so naps get longer while nothing happens.
  constexpr std::chrono::microseconds kShortest{20}, kLongest{500};
  auto nap = kShortest;
  const auto progress = [&engines, &nap, kShortest, kLongest] {
    bool worked = false;
    for (const auto& unit : engines) {
      worked |= unit->engine.progress();
    }
    if (worked) {
      nap = kShortest;
    } else {
      std::this_thread::sleep_for(nap);
      nap = std::min(nap * 2, kLongest);
    }
  };
  engine::Engine& engine = engines.front()->engine;
  while (!flow.over() && monotonic_now() < until && interrupted == 0) {
    progress();
    const engine::Guard guard(engine.lock());
    flow.on_turn();
  }
  const Instant linger = monotonic_now() + std::chrono::seconds(60);
  while (engine.flows() > 0 && monotonic_now() < linger && interrupted == 0) {
    progress();
  }
}

Status connect(engine::Engine& engine, rails::Rail& rail, ScriptedFlow& flow, const Arguments& arguments) {
  const engine::Guard guard(engine.lock());
  const auto peer = net::parse_ip(arguments.connect_to);
  if (!peer) {
    return Error{Errc::invalid_usage, "--connect " + arguments.connect_to + " is no address"};
  }
  const auto way = rail.way_to(*peer, 0);
  engine::Flow* opened = way ? way->carrier->connect(*peer, arguments.port, &flow, 0) : nullptr;
  if (opened == nullptr) {
    return Error{Errc::invalid_usage, "there is no route to " + arguments.connect_to};
  }
  flow.adopt(static_cast<link::TcpFlow&>(*opened));
  return {};
}

int run(const Arguments& arguments) {
  std::optional<std::vector<Step>> script = parse_script(arguments.script);
  if (!script) {
    return complain("the script has a word that is no step; see tests/interop/script.h");
  }
  if (Status status = nic::start_eal({.memory_mib = 128u * (1u + arguments.engines)}); !status) {
    return complain(status.error().message);
  }
  const link::Options defaults;
  const link::PortMap ports(defaults.first_port, defaults.ports, arguments.engines, arguments.port);
  Engines engines = make_engines(arguments, ports);
  std::vector<link::Tcp*> all;
  for (const auto& made : engines) {
    all.push_back(&made->tcp);
  }
  engine::Engine& engine = engines.front()->engine;
  auto opened = rails::open_rail(arguments.rail, all, ports);
  if (!opened) {
    return complain(opened.error().message);
  }
  ScriptedFlow flow(engines.front()->tcp, std::move(*script));
  engine.set_acceptor(&flow);
  announce("ready");
  if (!arguments.connect_to.empty()) {
    if (Status status = connect(engine, *opened->front(), flow, arguments); !status) {
      return complain(status.error().message);
    }
  }
  turn(engines, flow, arguments);
  nlohmann::json report = flow.report();
  report["fault"] = flow.fault();
  report["left_open"] = engine.flows();
  report["exchange"] = exchange_of(engines);
  halt(engines);
  announce(report.dump());
  return flow.fault().empty() ? 0 : complain(flow.fault());
}

void add_tcp_options(CLI::App& app, Arguments& arguments) {
  using config::CongestionControl;
  const std::map<std::string, CongestionControl> controls{{"cubic", CongestionControl::cubic},
                                                          {"dctcp", CongestionControl::dctcp},
                                                          {"bottleneck", CongestionControl::bottleneck}};
  app.add_option("--congestion", arguments.rail.congestion_control)
      ->transform(CLI::CheckedTransformer(controls));
  app.add_flag("--ecn", arguments.rail.ecn);
  app.add_flag("--pacing", arguments.rail.pacing);
  app.add_flag("!--no-sack", arguments.tcp.sack);
  app.add_flag("!--no-timestamps", arguments.tcp.timestamps);
  app.add_option("--receive-buffer", arguments.tcp.receive_buffer, "bytes");
  app.add_option("--min-rto-ms", arguments.min_rto_ms);
  app.add_option("--user-timeout-ms", arguments.user_timeout_ms);
  app.add_option("--keepalive-idle-ms", arguments.keepalive_idle_ms);
  app.add_option("--keepalive-interval-ms", arguments.keepalive_interval_ms);
  app.add_option("--keepalive-probes", arguments.tcp.keepalive_probes);
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app{"Our end of an interop stream"};
  Arguments arguments;
  const std::map<std::string, config::RailKind> kinds{{"af_packet", config::RailKind::af_packet},
                                                      {"af_xdp", config::RailKind::af_xdp},
                                                      {"tap", config::RailKind::tap}};
  app.add_option("--kind", arguments.rail.kind)->transform(CLI::CheckedTransformer(kinds));
  app.add_option("--device", arguments.rail.device)->required();
  app.add_option("--address", arguments.rail.addresses, "own addresses with prefix length")->required();
  app.add_option("--connect", arguments.connect_to, "the peer's address; without it, listen");
  app.add_option("--port", arguments.port);
  app.add_option("--engines", arguments.engines)->check(CLI::Range(1, 16));
  app.add_option("--script", arguments.script, "the steps")->required()->delimiter(' ');
  app.add_option("--timeout", arguments.timeout_s, "seconds");
  add_tcp_options(app, arguments);
  CLI11_PARSE(app, argc, argv);
  arguments.finish();
  log::set_sink(log_to_stderr);
  // On SIGTERM it ends like any run that has not completed its script: with a report.
  std::signal(SIGTERM, [](int) { interrupted = 1; });
  return run(arguments);
}
