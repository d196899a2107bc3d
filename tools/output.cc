#include "tools/output.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <ctime>
#include <system_error>

#include "base/descriptor.h"

namespace tfabric::tools {
namespace {

struct Failures {
  bool standard_output = false;
  bool reader_gone = false;  // first: it had enough, such as `head`, which is no fault of anyone's
  std::optional<std::string> first;
};

Failures& failures() {
  static auto* instance = new Failures;
  return *instance;
}

void keep(const std::string& what, const std::string& why) {
  if (!failures().first) {
    failures().first = what + ": " + why;
  }
}

std::string explain(int error) { return std::generic_category().message(error); }

void standard_output_failed(const std::string& why) {
  failures().standard_output = true;
  keep("standard output", why);
}

// Blocks SIGPIPE of this thread during a write. The signal is not ignored for the process, since children
// would inherit that.
class NoBrokenPipe {
 public:
  NoBrokenPipe() {
    sigemptyset(&pipe_);
    sigaddset(&pipe_, SIGPIPE);
    sigset_t pending;
    sigpending(&pending);
    was_pending_ = sigismember(&pending, SIGPIPE) == 1;
    pthread_sigmask(SIG_BLOCK, &pipe_, &before_);
  }
  ~NoBrokenPipe() {
    const timespec now{};
    if (broken && !was_pending_) {
      sigtimedwait(&pipe_, nullptr, &now);
    }
    pthread_sigmask(SIG_SETMASK, &before_, nullptr);
  }
  NoBrokenPipe(const NoBrokenPipe&) = delete;
  NoBrokenPipe& operator=(const NoBrokenPipe&) = delete;

  bool broken = false;  // a write has failed with EPIPE, which raised the signal

 private:
  sigset_t pipe_{}, before_{};
  bool was_pending_ = false;
};

// Returns 0, or the errno of the failure.
int write_all(int file, std::string_view text) {
  NoBrokenPipe guard;
  while (!text.empty()) {
    const ssize_t written = write(file, text.data(), text.size());
    if (written > 0) {
      text.remove_prefix(static_cast<std::size_t>(written));
    } else if (written < 0 && errno == EAGAIN) {
      // A terminal or pipe that another process has set to non-blocking.
      pollfd wait{file, POLLOUT, 0};
      poll(&wait, 1, -1);
    } else if (written == 0 || errno != EINTR) {
      const int error = written == 0 ? EIO : errno;
      guard.broken = error == EPIPE;
      return error;
    }
  }
  return 0;
}

}  // namespace

bool open_standard_descriptors() {
  for (const int wanted : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
    if (fcntl(wanted, F_GETFD) >= 0 || errno != EBADF) {
      continue;
    }
    // The lowest free number is the wanted one, since those below it are open.
    if (open("/dev/null", O_RDWR) != wanted) {
      return false;
    }
    if (wanted == STDOUT_FILENO) {
      standard_output_failed("it is closed");
    }
  }
  return true;
}

bool print_out(std::string_view text) {
  if (!failures().standard_output) {
    if (const int error = write_all(STDOUT_FILENO, text); error != 0) {
      failures().reader_gone = error == EPIPE && !failures().first;
      standard_output_failed(explain(error));
    }
  }
  return !failures().standard_output;
}

void write_out_file(const std::string& path, std::string_view text) {
  const Descriptor file(open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666));
  const int error = file.get() < 0 ? errno : write_all(file.get(), text);
  if (error != 0) {
    keep(path, explain(error));
  }
}

void replace_out_file(const std::string& path, std::string_view text, mode_t mode) {
  const std::string beside = fmt::format("{}.{}", path, getpid());
  unlink(beside.c_str());  // of an earlier process with this number
  const Descriptor file(open(beside.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, mode));
  int error = file.get() < 0 ? errno : write_all(file.get(), text);
  if (error == 0 && std::rename(beside.c_str(), path.c_str()) != 0) {
    error = errno;
  }
  if (error != 0) {
    if (file.get() >= 0) {
      unlink(beside.c_str());
    }
    keep(path, explain(error));
  }
}

void print_err(std::string_view text) { static_cast<void>(write_all(STDERR_FILENO, text)); }

std::optional<std::string> output_failure() { return failures().first; }

int finish_output(int exit_code) {
  if (!failures().first) {
    return exit_code;
  }
  if (failures().reader_gone) {
    return kOutputFailed;
  }
  print_err(fmt::format("tfabric: cannot write to {}; what was printed is incomplete{}\n", *failures().first,
                        exit_code == 0 ? "" : fmt::format(" (the exit code would have been {})", exit_code)));
  return kOutputFailed;
}

}  // namespace tfabric::tools
