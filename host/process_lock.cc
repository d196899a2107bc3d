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

namespace tfabric::host {
namespace {

constexpr mode_t kFileMode = 0666;
constexpr mode_t kFolderMode = 01777;  // like /tmp: all users create files, and only their owners remove them

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

// Opens without O_CREAT first: in a folder that all users can write to, Linux (fs.protected_regular) refuses
// O_CREAT for another user's file.
int open_file(const std::string& path) {
  for (int attempt = 0; attempt < 2; ++attempt) {
    int file = open(path.c_str(), O_RDWR | O_CLOEXEC | O_NOFOLLOW);
    if (file >= 0 || errno != ENOENT) {
      return file;
    }
    file = open(path.c_str(), O_RDWR | O_CLOEXEC | O_NOFOLLOW | O_CREAT | O_EXCL, kFileMode);
    if (file >= 0) {
      // fchmod(), because open() applied the umask. If it fails, other users get EACCES and report it.
      static_cast<void>(fchmod(file, kFileMode));
      return file;
    }
    if (errno != EEXIST) {
      return -1;
    }
  }
  return -1;
}

// Returns false if the folder cannot be created or written to.
bool make_folder(const std::string& folder) {
  if (mkdir(folder.c_str(), kFolderMode) == 0) {
    static_cast<void>(chmod(folder.c_str(), kFolderMode));  // because mkdir() applied the umask
  }
  struct stat status {};
  // Links are refused, because any user may have created one in /tmp.
  return lstat(folder.c_str(), &status) == 0 && S_ISDIR(status.st_mode) &&
         access(folder.c_str(), W_OK | X_OK) == 0;
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
  const int file = open_file(path);
  if (file < 0) {
    return Error{Errc::system,
                 fmt::format("cannot open {}: {}. All users who run jobs need permission to write to {}",
                             path, explain(errno), folder)};
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
    return Error{Errc::system, fmt::format("cannot lock {}: {}", path, explain(error))};
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
  const int file = open(path.c_str(), O_RDWR | O_CLOEXEC | O_NOFOLLOW);
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

Result<std::string> lock_folder(const std::string& configured) {
  if (!configured.empty()) {
    if (make_folder(configured)) {
      return configured;
    }
    return Error{
        Errc::system,
        fmt::format("lock_folder is {}, which is not a folder that this user can write to", configured)};
  }
  for (const char* folder : kLockFolders) {
    if (make_folder(folder)) {
      return std::string(folder);
    }
  }
  return Error{
      Errc::system,
      fmt::format("neither {} nor {} can be created or written to: set `lock_folder` to another folder",
                  kLockFolders[0], kLockFolders[1])};
}

std::string describe_process(pid_t process) {
  if (process == 0) {
    return "a process that is not visible from here (in another container?)";
  }
  std::ifstream file(fmt::format("/proc/{}/comm", process));
  std::string name;
  std::getline(file, name);
  return name.empty() ? fmt::format("process {}", process) : fmt::format("process {} ({})", process, name);
}

}  // namespace tfabric::host
