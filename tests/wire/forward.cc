// The forwarding loop of `tfabric wire`.
#include <fmt/format.h>
#include <sched.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <memory>
#include <thread>

#include "tools/output.h"
#include "tests/wire/command.h"
#include "tests/wire/control.h"
#include "tests/wire/report.h"
#include "tests/wire/settings.h"

namespace tfabric::wire {
namespace {

constexpr Duration kMaintenance = std::chrono::milliseconds(1);
constexpr Duration kShow = std::chrono::seconds(1);
// For how long the loop polls after the last frame before it sleeps, and for how long it sleeps at most. It
// has to poll, since memif has no descriptor to wait for.
constexpr Duration kLook = std::chrono::microseconds(50);
constexpr Duration kNap = std::chrono::microseconds(50);

volatile std::sig_atomic_t g_signalled = 0;

void stop_on_signals() {
  struct sigaction action {};
  action.sa_handler = [](int) { g_signalled = 1; };
  sigaction(SIGINT, &action, nullptr);
  sigaction(SIGTERM, &action, nullptr);
}

// One line. Names of ports need not be UTF-8, which JSON is.
std::string json_text(const nlohmann::json& json) {
  return json.dump(-1, ' ', /*ensure_ascii=*/false, nlohmann::json::error_handler_t::replace);
}

class Forwarder {
 public:
  Forwarder(const ForwardOptions& options, Driver& driver)
      : options_(options),
        driver_(driver),
        terminal_(isatty(options.json ? STDERR_FILENO : STDOUT_FILENO) == 1) {}

  Status start();
  void run();
  void report() const;

 private:
  [[nodiscard]] Status apply(const Request& request);
  [[nodiscard]] std::string answer(std::string_view line);
  void idle(Instant now) const;
  void maintain(Instant now);
  void show(Instant now);
  void print(const std::string& text) const;

  const ForwardOptions& options_;
  Driver& driver_;
  bool terminal_;
  std::unique_ptr<ControlServer> control_;
  bool stop_ = false;
  Instant begin_ = monotonic_now();
  Instant last_moved_{};
  Instant next_maintenance_{};
  Instant last_shown_ = begin_;
  std::vector<DirectionView> shown_;
};

// For people. With --json, standard output is for the program that reads it.
void Forwarder::print(const std::string& text) const {
  if (options_.json) {
    tools::print_err(text);
  } else {
    tools::print_out(text);
  }
}

Status Forwarder::apply(const Request& request) {
  return driver_.set({request.to, request.path}, request.words, monotonic_now());
}

Status Forwarder::start() {
  for (const std::string& text : options_.settings) {
    const Result<Request> request = parse_request("set " + text);
    if (!request) {
      return request.error();
    }
    if (Status set = apply(*request); !set) {
      return set;
    }
  }
  if (!options_.control.empty()) {
    auto control =
        ControlServer::open(options_.control, [this](std::string_view line) { return answer(line); });
    if (!control) {
      return control.error();
    }
    control_ = std::move(*control);
  }
  shown_ = driver_.view();
  std::string ports;
  for (const PortSpec& port : options_.driver.ports) {
    ports += fmt::format(" {}={}", port.name, port.text);
  }
  print(fmt::format("wire: ready, seed {},{}; {}\n", options_.driver.seed, ports, settings_text(shown_)));
  return {};
}

std::string Forwarder::answer(std::string_view line) {
  const Result<Request> request = parse_request(line);
  if (!request) {
    return "error: " + request.error().message;
  }
  switch (request->kind) {
    case Request::Kind::set: {
      const Status set = apply(*request);
      return set ? "ok" : "error: " + set.error().message;
    }
    case Request::Kind::settings:
      return request->json ? json_text(settings_json(driver_.view())) : settings_text(driver_.view());
    case Request::Kind::stats:
      return request->json ? json_text(statistics_json(driver_.view())) : statistics_text(driver_.view());
    case Request::Kind::stop:
      break;
  }
  stop_ = true;
  return "ok";
}

void Forwarder::run() {
  const Instant end = options_.seconds.count() > 0 ? begin_ + options_.seconds : kNever;
  while (g_signalled == 0 && !stop_) {
    const Instant now = monotonic_now();
    if (now >= end) {
      return;
    }
    if (driver_.turn(now)) {
      last_moved_ = now;
    } else {
      idle(now);
    }
    if (now >= next_maintenance_) {
      maintain(now);
    }
  }
}

void Forwarder::idle(Instant now) const {
  // A frame that is due but has not left waits for room in the device's ring.
  const Instant next = driver_.next_event();
  if (options_.spin || now - last_moved_ < kLook || next <= now) {
    sched_yield();
  } else {
    std::this_thread::sleep_for(std::min(kNap, next - now));
  }
}

void Forwarder::maintain(Instant now) {
  next_maintenance_ = now + kMaintenance;
  driver_.maintain();
  if (control_ != nullptr) {
    control_->poll(now);
  }
  if (terminal_ && now - last_shown_ >= kShow) {
    show(now);
  }
}

void Forwarder::show(Instant now) {
  std::vector<DirectionView> views = driver_.view();
  print(fmt::format("\r\033[K{}", rates_text(shown_, views, now - last_shown_)));
  shown_ = std::move(views);
  last_shown_ = now;
}

void Forwarder::report() const {
  const std::vector<DirectionView> views = driver_.view();
  print(fmt::format("{}{}\n", terminal_ ? "\r\033[K" : "", statistics_text(views)));
  if (options_.json) {
    tools::print_out(json_text(statistics_json(views)) + "\n");
  }
}

}  // namespace

Status forward(const ForwardOptions& options) {
  stop_on_signals();
  // The kernel's default timer slack would add 50 µs to each sleep.
  prctl(PR_SET_TIMERSLACK, 1ul);
  Result<std::unique_ptr<Driver>> driver = Driver::open(options.driver);
  if (!driver) {
    return driver.error();
  }
  Forwarder forwarder(options, **driver);
  if (Status started = forwarder.start(); !started) {
    return started;
  }
  forwarder.run();
  forwarder.report();
  return {};
}

}  // namespace tfabric::wire
