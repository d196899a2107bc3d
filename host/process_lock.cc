#include "host/process_lock.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <cerrno>
#include <fstream>
#include <mutex>
#include <set>
#include <system_error>
#include <utility>

#include "host/lock_folder.h"

namespace tfabric::host {
namespace {

constexpr mode_t kNewFileMode = 0600;

// The paths that this process has locked. It must not open them again: closing any descriptor of a file
// releases the process's lock on it.
struct Held {
  std::mutex mutex;
  std::set<std::string> paths;  // guarded by mutex
  pid_t process = 0;            // the process that locked them; guarded by mutex
};
Held& held() {
  static auto* instance = new Held;
  return *instance;
}

std::string explain(int error) { return std::generic_category().message(error); }

// Returns a valid file name for any text.
std::string file_name(const std::string& name) {
  std::string file = name;
  std::replace_if(
      file.begin(), file.end(),
      [](char c) {
        return std::isalnum(static_cast<unsigned char>(c)) == 0 && c != '.' && c != ':' && c != '_';
      },
      '-');
  return file + ".lock";
}

// O_NONBLOCK, since a stranger may have put a FIFO there.
constexpr int kOpenFlags = O_RDWR | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK;

// Gives the new file the permissions, and where a group shares the folder also its group. If that fails,
// other users get EACCES and report it.
void share_file(int file, const std::string& folder) {
  struct stat status {};
  if (stat(folder.c_str(), &status) != 0) {
    return;
  }
  if ((status.st_mode & S_IWGRP) != 0) {
    constexpr auto kSameOwner = static_cast<uid_t>(-1);
    if (fchown(file, kSameOwner, status.st_gid) != 0) {
      return;
    }
  }
  static_cast<void>(fchmod(file, lock_file_mode(status.st_mode)));  // because open() applied the umask
}

// Opens without O_CREAT first: in a folder that all users can write to, Linux (fs.protected_regular) refuses
// O_CREAT for another user's file.
int open_file(const std::string& folder, const std::string& path) {
  for (int attempt = 0; attempt < 2; ++attempt) {
    int file = open(path.c_str(), kOpenFlags);
    if (file >= 0 || errno != ENOENT) {
      return file;
    }
    file = open(path.c_str(), kOpenFlags | O_CREAT | O_EXCL, kNewFileMode);
    if (file >= 0) {
      share_file(file, folder);
      return file;
    }
    if (errno != EEXIST) {
      return -1;
    }
  }
  return -1;
}

bool is_regular(int file) {
  struct stat status {};
  return fstat(file, &status) == 0 && S_ISREG(status.st_mode);
}

Error cannot_use(const std::string& path, const std::string& why) {
  const std::string owner = describe_owner(path);
  return {
      Errc::system,
      fmt::format("the lock file {} cannot be used: {}{}. Remove it, or set `lock_folder` to a folder that "
                  "only the users of your jobs can write to",
                  path, why, owner.empty() ? "" : fmt::format(" (it is {})", owner))};
}

struct flock whole_file() {
  struct flock lock {};
  lock.l_type = F_WRLCK;
  lock.l_whence = SEEK_SET;
  return lock;
}

}  // namespace

Result<ProcessLock::Taken> ProcessLock::take(const std::string& folder, const std::string& name) {
  const std::string path = folder + "/" + file_name(name);
  Held& all = held();
  const std::lock_guard guard(all.mutex);
  if (all.process != getpid()) {
    all.paths.clear();  // after fork(), the locks are the parent's
    all.process = getpid();
  }
  if (all.paths.count(path) > 0) {
    return Taken{.lock = std::nullopt, .holder = getpid()};
  }
  const int file = open_file(folder, path);
  if (file < 0) {
    return cannot_use(path, explain(errno));
  }
  if (!is_regular(file)) {
    close(file);
    return cannot_use(path, "it is not a regular file");
  }
  struct flock lock = whole_file();
  if (fcntl(file, F_SETLK, &lock) == 0) {
    all.paths.insert(path);
    return Taken{.lock = ProcessLock(path, file), .holder = getpid()};
  }
  const int error = errno;
  lock = whole_file();
  const bool known = fcntl(file, F_GETLK, &lock) == 0 && lock.l_type != F_UNLCK;
  close(file);
  if (error != EAGAIN && error != EACCES) {
    return cannot_use(path, explain(error));
  }
  return Taken{.lock = std::nullopt, .holder = known ? std::max<pid_t>(lock.l_pid, 0) : 0};
}

std::optional<pid_t> ProcessLock::holder(const std::string& folder, const std::string& name) {
  const std::string path = folder + "/" + file_name(name);
  Held& all = held();
  const std::lock_guard guard(all.mutex);
  if (all.process == getpid() && all.paths.count(path) > 0) {
    return getpid();
  }
  const int file = open(path.c_str(), kOpenFlags);
  if (file < 0) {
    return std::nullopt;
  }
  struct flock lock = whole_file();
  const bool taken = fcntl(file, F_GETLK, &lock) == 0 && lock.l_type != F_UNLCK;
  close(file);
  return taken ? std::optional(std::max<pid_t>(lock.l_pid, 0)) : std::nullopt;
}

ProcessLock::ProcessLock(ProcessLock&& other) noexcept
    : path_(std::move(other.path_)), file_(std::exchange(other.file_, -1)) {}

ProcessLock::~ProcessLock() {
  if (file_ >= 0) {
    Held& all = held();
    const std::lock_guard guard(all.mutex);
    all.paths.erase(path_);
    close(file_);
  }
}

std::string describe_process(pid_t process) {
  if (process == 0) {
    return "a process that is not visible from here (in another container?)";
  }
  std::ifstream file(fmt::format("/proc/{}/comm", process));
  std::string name;
  std::getline(file, name);
  std::string text = fmt::format("process {}", process);
  if (!name.empty()) {
    text += fmt::format(" ({})", name);
  }
  struct stat status {};
  if (stat(fmt::format("/proc/{}", process).c_str(), &status) == 0 && status.st_uid != geteuid()) {
    text += fmt::format(" of uid {}", status.st_uid);
  }
  return text;
}

}  // namespace tfabric::host
