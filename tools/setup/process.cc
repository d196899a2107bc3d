// Running the system's programs: Host::run().
#include <fcntl.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>

#include "tools/setup/host.h"

namespace tfabric::setup {
namespace {

constexpr int kNotFound = 127;

struct Pipe {
  std::array<int, 2> ends{-1, -1};

  Pipe() = default;
  Pipe(const Pipe&) = delete;
  Pipe& operator=(const Pipe&) = delete;
  ~Pipe() {
    close_end(0);
    close_end(1);
  }
  [[nodiscard]] bool open() { return pipe2(ends.data(), O_CLOEXEC) == 0; }
  void close_end(std::size_t end) {
    if (ends[end] >= 0) {
      close(ends[end]);
      ends[end] = -1;
    }
  }
};

// In the child: runs the program in its place.
[[noreturn]] void become(const std::vector<std::string>& words, int out, int err) {
  const int nothing = open("/dev/null", O_RDONLY | O_CLOEXEC);
  dup2(nothing, STDIN_FILENO);
  dup2(out, STDOUT_FILENO);
  dup2(err, STDERR_FILENO);
  std::vector<char*> arguments;
  for (const std::string& word : words) {
    arguments.push_back(const_cast<char*>(word.c_str()));
  }
  arguments.push_back(nullptr);
  std::array<char, 64> path{"PATH=/usr/sbin:/usr/bin:/sbin:/bin"};
  std::array<char, 16> locale{"LC_ALL=C"};
  std::array<char*, 3> environment{path.data(), locale.data(), nullptr};
  // execvpe() searches the caller's PATH, not the one it passes on.
  setenv("PATH", path.data() + std::strlen("PATH="), 1);
  execvpe(arguments[0], arguments.data(), environment.data());
  _exit(kNotFound);
}

// Reads both pipes until the child has closed them.
void collect(Pipe& out, Pipe& err, Output& output) {
  std::array<Pipe*, 2> pipes{&out, &err};
  std::array<std::string*, 2> texts{&output.out, &output.err};
  while (out.ends[0] >= 0 || err.ends[0] >= 0) {
    std::array<pollfd, 2> waits{};
    for (std::size_t i = 0; i < waits.size(); ++i) {
      waits[i] = {.fd = pipes[i]->ends[0], .events = POLLIN};
    }
    if (poll(waits.data(), waits.size(), -1) < 0 && errno != EINTR) {
      return;
    }
    for (std::size_t i = 0; i < waits.size(); ++i) {
      if (waits[i].revents == 0) {
        continue;
      }
      std::array<char, 4096> buffer{};
      const ssize_t count = read(waits[i].fd, buffer.data(), buffer.size());
      if (count > 0) {
        texts[i]->append(buffer.data(), static_cast<std::size_t>(count));
      } else if (count == 0 || errno != EINTR) {
        pipes[i]->close_end(0);
      }
    }
  }
}

}  // namespace

Output Host::run(const std::vector<std::string>& words) {
  Output output;
  Pipe out, err;
  if (!out.open() || !err.open()) {
    return {.status = kNotFound, .err = std::strerror(errno)};
  }
  const pid_t child = fork();
  if (child < 0) {
    return {.status = kNotFound, .err = std::strerror(errno)};
  }
  if (child == 0) {
    become(words, out.ends[1], err.ends[1]);
  }
  out.close_end(1);
  err.close_end(1);
  collect(out, err, output);
  int status = 0;
  while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  constexpr int kSignal = 128;
  output.status = WIFEXITED(status) ? WEXITSTATUS(status) : kSignal + WTERMSIG(status);
  if (output.status == kNotFound && output.err.empty()) {
    output.err = words[0] + " is not installed";
  }
  return output;
}

Error failure_of(const std::vector<std::string>& words, const Output& output) {
  std::string why = output.err.empty() ? output.out : output.err;
  while (why.ends_with('\n')) {
    why.pop_back();
  }
  return {Errc::system, fmt::format("`{}` failed with status {}: {}", fmt::join(words, " "), output.status,
                                    why.empty() ? "it printed nothing" : why)};
}

Status run_or_fail(Host& host, const std::vector<std::string>& words) {
  const Output output = host.run(words);
  return output.ok() ? Status() : Status(failure_of(words, output));
}

}  // namespace tfabric::setup
