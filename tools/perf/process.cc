#include "tools/perf/process.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <string_view>
#include <thread>
#include <utility>

#include "base/descriptor.h"
#include "base/time.h"
#include "tools/perf/command.h"

namespace tfabric::perf {
namespace {

constexpr const char* kRank = "LOCAL_RANK";
constexpr const char* kSize = "LOCAL_WORLD_SIZE";

// Returns this process's environment with the variables set for `rank`.
std::vector<std::string> environment_with(LocalRank rank) {
  std::vector<std::string> variables{fmt::format("{}={}", kRank, rank.rank),
                                     fmt::format("{}={}", kSize, rank.size)};
  for (char** entry = environ; *entry != nullptr; ++entry) {
    const std::string_view variable(*entry);
    const std::string_view name = variable.substr(0, variable.find('='));
    if (name != kRank && name != kSize) variables.emplace_back(variable);
  }
  return variables;
}

}  // namespace

void set_local_rank(LocalRank rank) {
  setenv(kRank, std::to_string(rank.rank).c_str(), 1);
  setenv(kSize, std::to_string(rank.size).c_str(), 1);
}

ChildProcess::ChildProcess(ChildProcess&& other) noexcept : pid_(std::exchange(other.pid_, -1)) {}

ChildProcess::~ChildProcess() {
  if (pid_ > 0) wait(std::chrono::milliseconds(0));
}

Result<ChildProcess> ChildProcess::start(std::vector<std::string> arguments, int control,
                                         const std::string& name, LocalRank rank, bool led) {
  // Allocate before the fork only: after it, another thread may hold malloc's lock.
  arguments.insert(arguments.begin(), "tfabric");
  arguments.emplace_back("--control-fd");
  arguments.push_back(std::to_string(control));
  std::vector<char*> argv;
  for (auto& argument : arguments) argv.push_back(argument.data());
  argv.push_back(nullptr);
  auto variables = environment_with(rank);
  std::vector<char*> envp;
  for (auto& variable : variables) envp.push_back(variable.data());
  envp.push_back(nullptr);

  const pid_t pid = fork();
  if (pid == 0) {
    // Only this child inherits the descriptor, since all are close-on-exec.
    fcntl(control, F_SETFD, 0);
    if (led) std::signal(SIGINT, SIG_IGN);
    execve("/proc/self/exe", argv.data(), envp.data());
    _exit(127);
  }
  if (pid < 0)
    return Error{Errc::system, fmt::format("cannot start {}: fork: {}", name, std::strerror(errno))};
  return ChildProcess(pid);
}

Result<LedProcess> start_led(std::vector<std::string> arguments, const std::string& name, LocalRank rank) {
  int pair[2];
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) != 0) {
    return Error{Errc::system, fmt::format("socketpair: {}", std::strerror(errno))};
  }
  control::Channel control(Descriptor(pair[0]), name);
  const Descriptor theirs(pair[1]);
  auto process = ChildProcess::start(std::move(arguments), theirs.get(), name, rank, /*led=*/true);
  if (!process) return process.error();
  return LedProcess{std::move(*process), std::move(control)};
}

std::optional<int> ChildProcess::wait(std::chrono::milliseconds timeout) {
  const Instant deadline = monotonic_now() + timeout;
  int status = 0;
  while (waitpid(pid_, &status, WNOHANG) == 0) {
    if (monotonic_now() >= deadline) {
      kill(pid_, SIGKILL);
      waitpid(pid_, &status, 0);
      break;
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
  }
  return ended(status);
}

Status ChildProcess::expect_end(const std::string& name, std::chrono::milliseconds timeout) {
  const auto code = wait(timeout);
  if (code == std::optional<int>(kOk)) return {};
  const std::string how = code ? fmt::format("exit code {}", *code)
                               : fmt::format("killed, by others or because it had not ended after {} s",
                                             std::chrono::duration<double>(timeout).count());
  return Error{Errc::remote, fmt::format("{} did not end properly ({})", name, how)};
}

std::optional<int> ChildProcess::join() {
  int status = 0;
  while (waitpid(pid_, &status, 0) < 0 && errno == EINTR) {
  }
  return ended(status);
}

std::optional<int> ChildProcess::ended(int status) {
  pid_ = -1;
  if (WIFEXITED(status)) return WEXITSTATUS(status);
  return std::nullopt;
}

}  // namespace tfabric::perf
