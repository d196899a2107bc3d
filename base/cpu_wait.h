// How long a thread was ready to run and waited for a CPU: it tells a slow process from a slow network.
#pragma once

#include <sys/types.h>

#include <optional>

#include "base/time.h"

namespace tfabric {

// A thread of this process, at a moment.
struct CpuWait {
  pid_t thread = 0;
  Instant at{};
  Duration waited{};  // since the thread began
};

// Of the calling thread. Nothing if the kernel does not count it (CONFIG_SCHED_INFO).
[[nodiscard]] std::optional<CpuWait> cpu_wait(Instant now);
// Returns which part of the time since `before` that thread has waited; 0 if it has ended or is not known.
[[nodiscard]] double share_waited_since(const std::optional<CpuWait>& before, Instant now);

}  // namespace tfabric
