// Child processes of this program that are led by a control connection: perf's other sides on this host.
//
// They are started by fork and exec of /proc/self/exe, so that each side has an EAL and a plugin of its own.
// The child gets the descriptor of its end of the connection as an argument.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "tools/control/channel.h"

namespace tfabric::perf {

// A process's rank among those of this host. The plugin reads it from torchrun's variables LOCAL_RANK and
// LOCAL_WORLD_SIZE, and takes its share of the rails by it.
struct LocalRank {
  std::size_t rank = 0, size = 1;
};
// Sets the variables of this process itself.
void set_local_rank(LocalRank rank);

class ChildProcess {
 public:
  // Runs this executable with `arguments` and "--control-fd N" after them, where N is `control`, which
  // remains the caller's. `name` is for messages.
  // With `led`, Ctrl-C is for this process alone: it ends the child in order.
  static Result<ChildProcess> start(std::vector<std::string> arguments, int control, const std::string& name,
                                    LocalRank rank, bool led = false);
  ~ChildProcess();  // kills the child if it still runs
  ChildProcess(ChildProcess&& other) noexcept;
  ChildProcess& operator=(ChildProcess&&) = delete;

  // Waits for the child's end, and kills it after `timeout`. Returns its exit code, or nothing if it was
  // killed.
  std::optional<int> wait(std::chrono::milliseconds timeout);
  // The same; any end but exit code 0 is an error, which calls the child `name`.
  Status expect_end(const std::string& name, std::chrono::milliseconds timeout);
  // Waits without a limit.
  std::optional<int> join();

 private:
  explicit ChildProcess(pid_t pid) : pid_(pid) {}
  std::optional<int> ended(int status);
  pid_t pid_;
};

// A child with this process's end of its control connection.
struct LedProcess {
  ChildProcess process;
  control::Channel control;
};
Result<LedProcess> start_led(std::vector<std::string> arguments, const std::string& name, LocalRank rank);

}  // namespace tfabric::perf
