// Ends a polling loop that makes no progress for too long, or whose peer has failed, with an error that says
// what the loop was waiting for; shows progress meanwhile.
//
// Reads the clock only on every 64th empty poll, so a busy loop pays nothing. An empty poll yields the CPU,
// as NCCL's progress thread does. One thread.
#pragma once

#include <chrono>
#include <functional>
#include <string>

#include "base/result.h"
#include "base/time.h"
#include "tools/control/channel.h"

namespace tfabric::perf {

class Watchdog {
 public:
  using Describe = std::function<std::string()>;

  // `control` outlives the watchdog. With `show_progress`, a line goes to standard error: on a terminal each
  // second over the last one, otherwise every few seconds.
  Watchdog(control::Channel& control, std::chrono::milliseconds timeout, bool show_progress);

  // Starts an operation, and its timeout. `describe` says how far it is, for progress and errors.
  void begin(Describe describe);
  void end();
  void progress() { progressed_ = true; }
  // To be called after a poll that found nothing to do.
  Status idle();

 private:
  Status look();
  void show(Instant now);

  control::Channel& control_;
  std::chrono::milliseconds timeout_;
  bool show_progress_;
  bool terminal_;
  bool line_shown_ = false;
  bool progressed_ = false;
  unsigned idle_polls_ = 0;
  Instant last_progress_{};
  Instant next_look_{};
  Instant next_show_{};
  Describe describe_;
};

}  // namespace tfabric::perf
