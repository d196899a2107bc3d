#include "host/lock_folder.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <system_error>

namespace tfabric::host {
namespace {

constexpr mode_t kPermissions = 07777;
constexpr mode_t kOwnFolder = 0700;
constexpr mode_t kOwnFile = 0600, kGroupFile = 0660, kSharedFile = 0666;

const char* kind_of(mode_t mode) {
  if (S_ISDIR(mode)) {
    return "a folder";
  }
  if (S_ISLNK(mode)) {
    return "a link";
  }
  return S_ISREG(mode) ? "a file" : "a special file";
}

// Links are not followed: any user may have created one in /tmp.
bool is_folder(const std::string& path) {
  struct stat status {};
  return lstat(path.c_str(), &status) == 0 && S_ISDIR(status.st_mode);
}

// Creates the folder if nothing is there. Returns why it cannot be written to; empty: it can.
std::string make_usable(const std::string& path) {
  if (mkdir(path.c_str(), kOwnFolder) == 0) {
    static_cast<void>(chmod(path.c_str(), kOwnFolder));  // because mkdir() applied the umask
  } else if (errno != EEXIST) {
    return fmt::format("{} cannot be created ({})", path, std::generic_category().message(errno));
  }
  if (!is_folder(path)) {
    return fmt::format("{} is {}", path, describe_owner(path));
  }
  return access(path.c_str(), W_OK | X_OK) == 0
             ? std::string()
             : fmt::format("{} cannot be written by this user, uid {} (it is {})", path, geteuid(),
                           describe_owner(path));
}

}  // namespace

std::vector<LockFolderChoice> lock_folder_choices(uid_t user) {
  return {{.path = kSharedLockFolder, .owner = 0},
          {.path = fmt::format("/run/lock/tfabric-{}", user), .owner = user},
          {.path = fmt::format("/tmp/tfabric-lock-{}", user), .owner = user}};
}

std::string foreign_lock_folder(const LockFolderChoice& choice) {
  struct stat status {};
  if (lstat(choice.path.c_str(), &status) != 0) {
    return {};
  }
  if (!S_ISDIR(status.st_mode) || status.st_uid != choice.owner) {
    return fmt::format("{} is {}, expected a folder of uid {}", choice.path, describe_owner(choice.path),
                       choice.owner);
  }
  return (status.st_mode & S_IWOTH) == 0 ? std::string()
                                         : fmt::format("{} can be written by all users (mode {:o})",
                                                       choice.path, status.st_mode & kPermissions);
}

Result<LockFolder> choose_lock_folder(std::span<const LockFolderChoice> choices) {
  LockFolder found;
  std::vector<std::string> reasons;
  for (const LockFolderChoice& choice : choices) {
    std::string why = foreign_lock_folder(choice);
    if (!why.empty()) {
      found.passed_over.push_back(why);
    } else if (choice.owner != geteuid() && !is_folder(choice.path)) {
      why = fmt::format("{} does not exist, and is uid {}'s to create", choice.path, choice.owner);
    } else {
      why = make_usable(choice.path);
    }
    if (why.empty()) {
      found.path = choice.path;
      return found;
    }
    reasons.push_back(std::move(why));
  }
  return Error{
      Errc::system,
      fmt::format("there is no folder for the locks by which processes share rails: {}. Remove what is in "
                  "the way, or set `lock_folder` to a folder of yours",
                  fmt::join(reasons, "; "))};
}

Result<LockFolder> lock_folder(const std::string& configured) {
  if (configured.empty()) {
    return choose_lock_folder(lock_folder_choices(geteuid()));
  }
  if (const std::string why = make_usable(configured); !why.empty()) {
    return Error{Errc::system, fmt::format("lock_folder: {}", why)};
  }
  return LockFolder{.path = configured, .passed_over = {}};
}

mode_t lock_file_mode(mode_t folder) {
  if ((folder & S_IWOTH) != 0) {
    return kSharedFile;
  }
  return (folder & S_IWGRP) != 0 ? kGroupFile : kOwnFile;
}

std::string describe_owner(const std::string& path) {
  struct stat status {};
  return lstat(path.c_str(), &status) == 0
             ? fmt::format("{} of uid {}", kind_of(status.st_mode), status.st_uid)
             : std::string();
}

}  // namespace tfabric::host
