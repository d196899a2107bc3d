#include "tests/nccl/fakecuda/log.h"

#include <unistd.h>

#include <cstdio>
#include <cstdlib>

#include "tests/nccl/fakecuda/environment.h"

namespace fakecuda {

int trace_level() {
  static const int level = env_int("FAKECUDA_TRACE", 0);
  return level;
}

void say(std::string_view text) {
  // One write for each line, since the ranks share a terminal.
  const std::string line = fmt::format("[fakecuda {}] {}\n", getpid(), text);
  std::fwrite(line.data(), 1, line.size(), stderr);
}

void stop(std::string_view text) {
  say(fmt::format("FATAL: {}", text));
  std::abort();
}

}  // namespace fakecuda
