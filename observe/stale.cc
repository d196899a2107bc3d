#include "observe/stale.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstddef>
#include <memory>
#include <utility>
#include <vector>

#include "observe/kept_file.h"
#include "observe/layout.h"

namespace tfabric::observe {
namespace {

struct CloseFolder {
  void operator()(DIR* folder) const { closedir(folder); }
};
using Folder = std::unique_ptr<DIR, CloseFolder>;

// Returns the names in the folder that pages have.
std::vector<std::string> names_in(DIR* folder) {
  std::vector<std::string> names;
  while (const dirent* entry = readdir(folder)) {
    if (pid_in_page_name(entry->d_name)) {
      names.emplace_back(entry->d_name);
    }
  }
  return names;
}

// A page that was cut is one, too, and one that had only its name when its process was killed; another file
// that has such a name is not ours to remove.
bool was_left(int file, const struct stat& found) {
  std::array<std::byte, kMagic.size()> begin{};
  const auto count = pread(file, begin.data(), begin.size(), 0);
  const bool empty =
      count >= 0 && std::all_of(begin.begin(), begin.end(), [](std::byte b) { return b == std::byte{}; });
  return !page_is_held(file) && (found.st_size == 0 || empty || begins_like_page(file));
}

// Returns when it was first found left.
WallTime mark(int file, const struct stat& found, WallTime now) {
  if ((found.st_mode & S_IWUSR) == 0) {
    return std::min(changed_at(found), now);  // clocks are set back at times
  }
  const auto since = now.time_since_epoch();
  const auto seconds = std::chrono::floor<std::chrono::seconds>(since);
  struct timespec time {};
  time.tv_sec = seconds.count();
  time.tv_nsec = std::chrono::nanoseconds(since - seconds).count();
  const std::array<struct timespec, 2> times{time, time};
  static_cast<void>(futimens(file, times.data()));
  static_cast<void>(fchmod(file, found.st_mode & (S_IRUSR | S_IRGRP)));
  return now;
}

}  // namespace

WallTime changed_at(const struct stat& file) {
  return WallTime(std::chrono::duration_cast<WallTime::duration>(
      std::chrono::seconds(file.st_mtim.tv_sec) + std::chrono::nanoseconds(file.st_mtim.tv_nsec)));
}

void clean_folder(const std::string& folder, WallTime now) {
  const Folder open_folder(opendir(folder.c_str()));
  if (!open_folder) {
    return;
  }
  const int at = dirfd(open_folder.get());
  std::vector<std::pair<WallTime, std::string>> left;
  for (const std::string& name : names_in(open_folder.get())) {
    struct stat found {};
    // A second name may have been given to any file of this user by another one.
    if (fstatat(at, name.c_str(), &found, AT_SYMLINK_NOFOLLOW) != 0 || found.st_uid != geteuid() ||
        found.st_nlink != 1) {
      continue;
    }
    const Descriptor file = open_kept(at, name.c_str());
    if (file.get() >= 0 && fstat(file.get(), &found) == 0 && found.st_uid == geteuid() &&
        was_left(file.get(), found)) {
      left.emplace_back(mark(file.get(), found, now), name);
    }
  }
  std::sort(left.rbegin(), left.rend());
  for (std::size_t i = 0; i < left.size(); ++i) {
    if (i >= kMostKept || now - left[i].first >= kKeptFor) {
      unlinkat(at, left[i].second.c_str(), 0);
    }
  }
}

Removed remove_left(const std::string& folder) {
  Removed removed;
  const Folder open_folder(opendir(folder.c_str()));
  if (!open_folder) {
    return removed;
  }
  const int at = dirfd(open_folder.get());
  for (const std::string& name : names_in(open_folder.get())) {
    const Descriptor file = open_kept(at, name.c_str());
    struct stat found {};
    if (file.get() < 0 || fstat(file.get(), &found) != 0) {
      removed.of_others += errno == EACCES || errno == EPERM ? 1 : 0;
      continue;
    }
    if (!was_left(file.get(), found)) {
      continue;
    }
    if (unlinkat(at, name.c_str(), 0) == 0) {
      ++removed.pages;
    } else {
      removed.of_others += errno == EACCES || errno == EPERM ? 1 : 0;
    }
  }
  return removed;
}

}  // namespace tfabric::observe
