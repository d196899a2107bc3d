// Keeps perf's polling loops from hanging: sees that nothing has moved for too long, or that the peer has
// failed, and says who waits for what. Also shows progress to a waiting user.
//
// The clock is read only on empty polls, so a busy loop pays nothing. An empty poll yields the CPU, as
// NCCL's own progress thread does. One thread.
#pragma once

#include <chrono>
#include <functional>
#include <string>

#include "base/result.h"
#include "base/time.h"
#include "tools/perf/control.h"

namespace tfabric::perf {

class Watchdog {
 public:
  using Describe = std::function<std::string()>;

  // Watches `control` too. With `show_progress` a line goes to stderr: each second over the last one on a
  // terminal, else every few seconds.
  Watchdog(ControlChannel& control, std::chrono::milliseconds timeout, bool show_progress);

  // What is being done, for progress and for the error. Starts the timeout anew.
  void begin(Describe describe);
  void end();
  void progress() { progressed_ = true; }
  // Call after a poll that found nothing to do.
  Status idle();

 private:
  Status look();
  void show(Instant now);

  ControlChannel& control_;
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
