#include "base/cpu_wait.h"

#include <fmt/format.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <fstream>

namespace tfabric {
namespace {

// The second number of the file is nanoseconds (Documentation/scheduler/sched-stats.rst).
std::optional<Duration> waited(pid_t thread) {
  std::int64_t ran = 0, waited = 0;
  std::ifstream file(fmt::format("/proc/self/task/{}/schedstat", thread));
  return file >> ran >> waited ? std::optional<Duration>(std::chrono::nanoseconds(waited)) : std::nullopt;
}

}  // namespace

std::optional<CpuWait> cpu_wait(Instant now) {
  const auto thread = static_cast<pid_t>(::syscall(SYS_gettid));  // glibc has gettid() since 2.30 only
  const auto so_far = waited(thread);
  return so_far ? std::optional(CpuWait{.thread = thread, .at = now, .waited = *so_far}) : std::nullopt;
}

double share_waited_since(const std::optional<CpuWait>& before, Instant now) {
  const auto so_far = before ? waited(before->thread) : std::nullopt;
  if (!so_far || now <= before->at) {
    return 0;
  }
  return std::clamp(std::chrono::duration<double>(*so_far - before->waited) / (now - before->at), 0.0, 1.0);
}

}  // namespace tfabric
