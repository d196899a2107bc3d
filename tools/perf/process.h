// Further processes of this program, led by a control connection: perf's other sides on this host.
//
// fork + exec of /proc/self/exe, so that each side starts with a clean EAL and plugin. The child's end of
// the connection is a descriptor number that it gets in its arguments.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "tools/perf/control.h"

namespace tfabric::perf {

// Where a process is among those of this host: told by the variables of torchrun, so that they share out the
// rails of which each has one user.
struct LocalRank {
  std::size_t rank = 0, size = 1;
};
// For this process itself.
void set_local_rank(LocalRank rank);

class ChildProcess {
 public:
  // Runs this executable with `arguments` and "--control-fd N" behind them, N being `control`, which stays
  // the caller's. `name` is for messages.
  static Result<ChildProcess> start(std::vector<std::string> arguments, int control, const std::string& name,
                                    LocalRank rank);
  ~ChildProcess();  // ends the child if it is still running
  ChildProcess(ChildProcess&& other) noexcept;
  ChildProcess& operator=(ChildProcess&&) = delete;

  // Waits for the child's own end; ends it after `timeout`. Its exit code, or nothing if it was killed.
  std::optional<int> wait(std::chrono::milliseconds timeout);
  // The same; an end that is not one with exit code 0 is an error, which calls the child `name`.
  Status expect_end(const std::string& name, std::chrono::milliseconds timeout);
  // The same, however long it takes.
  std::optional<int> join();

 private:
  explicit ChildProcess(pid_t pid) : pid_(pid) {}
  std::optional<int> ended(int status);
  pid_t pid_;
};

// A child that this process leads itself.
struct LedProcess {
  ChildProcess process;
  ControlChannel control;
};
Result<LedProcess> start_led(std::vector<std::string> arguments, const std::string& name, LocalRank rank);

}  // namespace tfabric::perf
