// emulated_wire: a network between two ports that loses, delays and damages packets. Tests configure it by
// commands on standard input, and it answers each by a line. It ends at the end of that input.
#include <fmt/format.h>
#include <poll.h>
#include <sched.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <iostream>
#include <thread>

#include "tests/wire/settings.h"
#include "tests/wire/wire.h"

namespace tfabric::wire {
namespace {

constexpr Duration kMaintenance = std::chrono::milliseconds(1);
// For how long the loop polls after the last frame before it sleeps, and for how long it sleeps at most. It
// has to poll, since memif has no descriptor to wait for.
constexpr Duration kLook = std::chrono::microseconds(50);
constexpr Duration kNap = std::chrono::microseconds(50);

// Standard input, by lines, without waiting for them.
class Commands {
 public:
  // Carries out what has come. Returns false when there will be no more.
  bool serve(Wire& wire, Instant now) {
    pollfd waiting{STDIN_FILENO, POLLIN, 0};
    if (::poll(&waiting, 1, 0) <= 0) {
      return true;
    }
    std::array<char, 4096> bytes;
    const ssize_t n = ::read(STDIN_FILENO, bytes.data(), bytes.size());
    if (n <= 0) {
      return false;
    }
    text_.append(bytes.data(), static_cast<std::size_t>(n));
    for (std::size_t end = 0; (end = text_.find('\n')) != std::string::npos; text_.erase(0, end + 1)) {
      std::cout << wire.answer(std::string_view(text_).substr(0, end), now) << std::endl;
    }
    return true;
  }

 private:
  std::string text_;
};

void forward(Wire& wire) {
  Commands commands;
  Instant last_moved{}, next_maintenance{};
  for (;;) {
    const Instant now = monotonic_now();
    if (wire.turn(now)) {
      last_moved = now;
    } else if (const Instant next = wire.next_event(); now - last_moved < kLook || next <= now) {
      sched_yield();  // a frame that is due but has not left waits for room in the device's ring
    } else {
      std::this_thread::sleep_for(std::min(kNap, next - now));
    }
    if (now >= next_maintenance) {
      next_maintenance = now + kMaintenance;
      wire.maintain();
      if (!commands.serve(wire, now)) {
        return;
      }
    }
  }
}

std::string footer() {
  std::string text =
      "Commands: `set [to=PORT] [path=NUMBER] SETTING=VALUE...`, answered by ok or error; `stats`, by JSON. "
      "Without to= and path=, all directions are set.\nSettings, in the order in which they apply to a "
      "frame:\n  clear          resets all settings\n";
  for (const Setting& setting : settings()) {
    text += fmt::format("  {:<15}{}\n", setting.name, setting.meaning);
  }
  return text;
}

Status run(WireOptions& options, const std::vector<std::string>& ports, const std::string& initial) {
  for (std::size_t i = 0; i < options.ports.size(); ++i) {
    auto port = PortSpec::parse(ports[i]);
    if (!port) {
      return port.error();
    }
    options.ports[i] = std::move(*port);
  }
  // The kernel's default timer slack would add 50 µs to each sleep.
  prctl(PR_SET_TIMERSLACK, 1ul);
  auto wire = Wire::open(options);
  if (!wire) {
    return wire.error();
  }
  std::cout << (*wire)->answer("set " + initial, monotonic_now()) << std::endl;
  forward(**wire);
  return {};
}

int main(int argc, char** argv) {
  CLI::App app(
      "An emulated network between two ports, which loses, delays and damages packets. Prints ok when it is "
      "ready.");
  WireOptions options;
  std::vector<std::string> ports;
  std::string initial;
  app.add_option("ports", ports,
                 "NAME=memif:SOCKET, NAME=memif-client:SOCKET of a server that listens already, or "
                 "NAME=af_packet:INTERFACE")
      ->expected(2)
      ->required();
  app.add_option("--set", initial, "initial settings, as \"loss=1% delay=5ms\"");
  app.add_option("--seed", options.seed, "of the random numbers")->capture_default_str();
  app.add_option("--paths", options.paths, "towards each port; a hash of a flow's 5-tuple chooses its path")
      ->check(CLI::Range(1, 16))
      ->capture_default_str();
  app.footer(footer());
  CLI11_PARSE(app, argc, argv);
  const Status done = run(options, ports, initial);
  if (!done) {
    std::cerr << "emulated_wire: " << done.error().message << '\n';
  }
  return done ? 0 : 1;
}

}  // namespace
}  // namespace tfabric::wire

int main(int argc, char** argv) { return tfabric::wire::main(argc, argv); }
