#include "tools/perf/watchdog.h"

#include <fmt/format.h>
#include <sched.h>
#include <unistd.h>

#include <utility>

#include "tools/output.h"

namespace tfabric::perf {
namespace {

constexpr unsigned kPollsBetweenClocks = 64;
constexpr auto kLookInterval = std::chrono::milliseconds(50);
constexpr auto kTerminalInterval = std::chrono::seconds(1);
constexpr auto kLogInterval = std::chrono::seconds(5);

}  // namespace

Watchdog::Watchdog(control::Channel& control, std::chrono::milliseconds timeout, bool show_progress)
    : control_(control),
      timeout_(timeout),
      show_progress_(show_progress),
      terminal_(isatty(STDERR_FILENO) == 1) {}

void Watchdog::begin(Describe describe) {
  describe_ = std::move(describe);
  progressed_ = false;
  // next_look_ is not reset: otherwise many short operations in a row would never check the peer.
  last_progress_ = monotonic_now();
  next_show_ = last_progress_ + (terminal_ ? Duration(kTerminalInterval) : Duration(kLogInterval));
}

void Watchdog::end() {
  describe_ = nullptr;
  if (line_shown_) tools::print_err("\r\033[K");
  line_shown_ = false;
}

Status Watchdog::idle() {
  sched_yield();
  if (++idle_polls_ % kPollsBetweenClocks != 0) return {};
  return look();
}

Status Watchdog::look() {
  const Instant now = monotonic_now();
  if (std::exchange(progressed_, false)) last_progress_ = now;
  if (now < next_look_) return {};
  next_look_ = now + kLookInterval;
  if (auto peer = control_.check_peer(); !peer) return peer;
  if (now - last_progress_ > timeout_) {
    return Error{Errc::remote, fmt::format("no progress for {:.0f} s: {}",
                                           static_cast<double>(timeout_.count()) / 1e3, describe_())};
  }
  if (show_progress_ && now >= next_show_) show(now);
  return {};
}

void Watchdog::show(Instant now) {
  if (terminal_) {
    tools::print_err("\r\033[K" + describe_());
    line_shown_ = true;
    next_show_ = now + kTerminalInterval;
  } else {
    tools::print_err(describe_() + "\n");
    next_show_ = now + kLogInterval;
  }
}

}  // namespace tfabric::perf
