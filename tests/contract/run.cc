#include "tests/contract/run.h"

#include <fcntl.h>
#include <spawn.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <catch2/catch.hpp>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <optional>
#include <sstream>

#include "tests/temporary_folder.h"

namespace tfabric::contract {
namespace {

using std::chrono::steady_clock;

// How long the other part may go on once one has failed.
constexpr std::chrono::seconds kAfterFailure{3};
constexpr int kChannelFd = 3;

struct Process {
  PartSpec spec;
  pid_t pid = -1;
  int output = -1;
  bool ended = false;
  int status = 0;
};

using Variables = std::map<std::string, std::string>;

// The network between the parts: memif by default; with CONTRACT_WIRE=vhost the two ends of a vhost-user
// socket in a folder of this object; with CONTRACT_WIRE=kernel the kernel's TCP over loopback; with
// CONTRACT_WIRE=rdma the RDMA devices that CONTRACT_HCAS names, like "rxea0,rxeb0".
class Wire {
 public:
  Wire() {
    if (const char* kind = std::getenv("CONTRACT_WIRE")) kind_ = kind;
    if (kind_ == "vhost") {
      folder_.emplace();
    } else if (kind_ == "rdma") {
      const char* hcas = std::getenv("CONTRACT_HCAS");
      REQUIRE(hcas != nullptr);
      std::istringstream names(hcas);
      REQUIRE(std::getline(names, hcas_[0], ','));
      REQUIRE(std::getline(names, hcas_[1]));
    } else {
      REQUIRE((kind_.empty() || kind_ == "kernel"));
    }
  }

  [[nodiscard]] Variables variables_of(std::size_t part) const {
    if (kind_ == "rdma") {
      // Soft-RoCE retries without end for a count of 7.
      return {{"TFABRIC_TRANSPORT", "rdma"},
              {"TFABRIC_RDMA_HCA", "=" + hcas_.at(part)},
              {"TFABRIC_RDMA_RETRY_COUNT", "6"}};
    }
    std::string rails = kind_ == "kernel" ? "kernel:device=lo" : "memif";
    if (kind_ == "vhost") {
      rails = std::string(part == 0 ? "vhost" : "virtio_user") + ":device=" + folder_->path("s") +
              ",addresses=10.9.0." + std::to_string(part + 1) + "/24";
    }
    return {{"TFABRIC_TRANSPORT", "tcp"}, {"TFABRIC_TCP_RAILS", rails}, {"TFABRIC_TCP_MAX_RECVS", "8"}};
  }

 private:
  std::string kind_;
  std::optional<test::TemporaryFolder> folder_;
  std::array<std::string, 2> hcas_;
};

std::vector<std::string> make_environment(const RunOptions& options, const Variables& wire) {
  Variables variables;
  for (char** entry = environ; *entry != nullptr; ++entry) {
    const std::string text = *entry;
    // Only the test sets the configuration.
    if (text.rfind("TFABRIC_", 0) == 0 || text.rfind("NCCL_", 0) == 0) continue;
    const std::size_t equals = std::min(text.find('='), text.size());
    variables[text.substr(0, equals)] = text.substr(std::min(equals + 1, text.size()));
  }
  for (const auto& [name, value] : wire) variables[name] = value;
  // The number that the ctest entry asks for.
  const char* engines = std::getenv("CONTRACT_ENGINES");
  variables["TFABRIC_TCP_ENGINES"] = engines == nullptr ? "" : engines;
  for (const auto& [name, value] : options.environment) variables[name] = value;
  std::vector<std::string> entries;
  for (const auto& [name, value] : variables) {
    if (!value.empty()) entries.push_back(name + "=" + value);
  }
  return entries;
}

void start(Process& process, int channel, const std::vector<std::string>& environment) {
  process.output = memfd_create("part", MFD_CLOEXEC);
  REQUIRE(process.output >= 0);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, process.output, STDOUT_FILENO);
  posix_spawn_file_actions_adddup2(&actions, process.output, STDERR_FILENO);
  posix_spawn_file_actions_adddup2(&actions, channel, kChannelFd);
  posix_spawn_file_actions_addclosefrom_np(&actions, kChannelFd + 1);
  std::vector<std::string> arguments{"contract", "--part", process.spec.name, std::to_string(kChannelFd)};
  std::vector<char*> argv, envp;
  for (std::string& argument : arguments) argv.push_back(argument.data());
  for (const std::string& entry : environment) envp.push_back(const_cast<char*>(entry.data()));
  argv.push_back(nullptr);
  envp.push_back(nullptr);
  const int error = posix_spawn(&process.pid, "/proc/self/exe", &actions, nullptr, argv.data(), envp.data());
  posix_spawn_file_actions_destroy(&actions);
  REQUIRE(error == 0);
}

bool as_expected(const Process& process) {
  switch (process.spec.ending) {
    case Ending::passes:
      return WIFEXITED(process.status) && WEXITSTATUS(process.status) == 0;
    case Ending::killed:
    case Ending::stopped:
      return WIFSIGNALED(process.status) && WTERMSIG(process.status) == SIGKILL;
  }
  return false;
}

std::string describe(const Process& process) {
  std::string text = std::string("part ") + process.spec.name + ": ";
  if (!process.ended) {
    text += "still running\n";
  } else if (WIFSIGNALED(process.status)) {
    text += std::string("ended by signal ") + strsignal(WTERMSIG(process.status)) + "\n";
  } else {
    text += "exit status " + std::to_string(WEXITSTATUS(process.status)) + "\n";
  }
  std::string output(static_cast<std::size_t>(lseek(process.output, 0, SEEK_END)), '\0');
  const ssize_t n = pread(process.output, output.data(), output.size(), 0);
  return text + output.substr(0, n > 0 ? static_cast<std::size_t>(n) : 0);
}

class Watch {
 public:
  explicit Watch(const RunOptions& options)
      : until_(steady_clock::now() + options.limit), limit_(options.limit) {}
  ~Watch() {
    for (Process& process : processes) {
      if (!process.ended) kill_and_reap(process);
      ::close(process.output);
    }
  }
  Watch(const Watch&) = delete;
  Watch& operator=(const Watch&) = delete;

  // Returns when all have ended, or the case has failed.
  void wait() {
    while (reap() && steady_clock::now() < until_) usleep(1000);
    std::string all;
    for (const Process& process : processes) all += describe(process);
    for (const Process& process : processes) {
      if (process.ended && !as_expected(process)) FAIL(all);
    }
    for (const Process& process : processes) {
      if (!process.ended) FAIL("watchdog: not finished after " << limit_.count() << " s\n" << all);
    }
    SUCCEED(all);
  }

  std::vector<Process> processes;

 private:
  // Returns true while a part runs that must end by itself.
  bool reap() {
    bool running = false;
    for (Process& process : processes) {
      if (process.ended) continue;
      process.ended = waitpid(process.pid, &process.status, WNOHANG) == process.pid;
      if (process.ended && !as_expected(process))
        until_ = std::min(until_, steady_clock::now() + kAfterFailure);
      running = running || (!process.ended && process.spec.ending != Ending::stopped);
    }
    for (Process& process : processes) {
      if (!running && !process.ended) kill_and_reap(process);
    }
    return running;
  }
  static void kill_and_reap(Process& process) {
    kill(process.pid, SIGKILL);
    waitpid(process.pid, &process.status, 0);
    process.ended = true;
  }

  steady_clock::time_point until_;
  std::chrono::seconds limit_;
};

}  // namespace

std::vector<pid_t> run(const std::vector<PartSpec>& parts, const RunOptions& options) {
  REQUIRE((parts.size() == 1 || parts.size() == 2));
  int ends[2];
  REQUIRE(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) == 0);
  const Wire wire;
  Watch watch(options);
  for (std::size_t i = 0; i < parts.size(); ++i) {
    watch.processes.push_back({.spec = parts[i]});
    start(watch.processes.back(), ends[i], make_environment(options, wire.variables_of(i)));
  }
  ::close(ends[0]);
  ::close(ends[1]);
  watch.wait();
  std::vector<pid_t> pids;
  for (const Process& process : watch.processes) pids.push_back(process.pid);
  return pids;
}

}  // namespace tfabric::contract
