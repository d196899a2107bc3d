// Ctrl-C while perf measures: the first ends the measurement in order, with a summary; the second ends the
// process.
#pragma once

#include <csignal>

namespace tfabric::perf {

// While it lives, SIGINT only sets a flag, once.
class InterruptHandler {
 public:
  InterruptHandler();
  ~InterruptHandler();
  InterruptHandler(const InterruptHandler&) = delete;
  InterruptHandler& operator=(const InterruptHandler&) = delete;

 private:
  struct sigaction before_ {};
};

// Returns true once SIGINT has come. Any thread may call it.
[[nodiscard]] bool interrupted();

}  // namespace tfabric::perf
