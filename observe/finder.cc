#include "observe/finder.h"

#include <dirent.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <climits>
#include <memory>
#include <optional>
#include <string_view>

#include "observe/kept_file.h"
#include "observe/layout.h"
#include "observe/process_stat.h"

namespace tfabric::observe {
namespace {

struct CloseFolder {
  void operator()(DIR* folder) const { closedir(folder); }
};
using Folder = std::unique_ptr<DIR, CloseFolder>;

enum class Target : std::uint8_t { other, page, unnamed };

// What /proc/PID/fd says of a file. A page in a folder got its name after it was opened, and so is shown as
// "/run/tfabric/#4711 (deleted)": as is every file that was made without a name (O_TMPFILE).
Target target_of(std::string_view path) {
  constexpr std::string_view kGone = " (deleted)";
  if (path.starts_with(fmt::format("/memfd:{}", kPageName))) {
    return Target::page;
  }
  if (!path.ends_with(kGone)) {
    return Target::other;
  }
  path.remove_suffix(kGone.size());
  path.remove_prefix(path.rfind('/') + 1);
  return path.starts_with('#') && number_in(path.substr(1)) ? Target::unnamed : Target::other;
}

// Returns the page that the process has open and that is its own: a child may have its parent's.
std::optional<FoundPage> page_of(std::uint32_t pid, const std::string& folder, DIR* files,
                                 Instant (*clock)()) {
  while (const dirent* entry = readdir(files)) {
    const std::string path = fmt::format("{}/fd/{}", folder, entry->d_name);
    std::array<char, PATH_MAX> target{};
    const ssize_t length = readlink(path.c_str(), target.data(), target.size());
    const Target kind = target_of({target.data(), static_cast<std::size_t>(std::max<ssize_t>(length, 0))});
    if (kind == Target::other) {
      continue;
    }
    const auto file =
        std::make_shared<Descriptor>(open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY));
    if (kind == Target::unnamed && (file->get() < 0 || !begins_like_page(file->get()))) {
      continue;
    }
    const PageOwner owner = owner_of(folder);
    if (file->get() < 0) {
      return FoundPage{pid, owner.stopped,
                       Error{Errc::system, fmt::format("cannot open its page: {}", strerror(errno))}};
    }
    Result<Snapshot> snapshot = read_page(file->get(), clock());
    if (snapshot && (snapshot->pid != owner.pid_inside || snapshot->process_started != owner.started)) {
      continue;
    }
    return FoundPage{pid, owner.stopped, std::move(snapshot), file};
  }
  return std::nullopt;
}

}  // namespace

Found find_pages(std::uint32_t only, Instant (*clock)(), const std::string& proc) {
  Found found;
  const Folder processes(opendir(proc.c_str()));
  while (const dirent* entry = processes ? readdir(processes.get()) : nullptr) {
    const auto pid = number_in(entry->d_name);
    if (!pid || (only != 0 && *pid != only)) {
      continue;
    }
    const std::string folder = fmt::format("{}/{}", proc, *pid);
    const Folder files(opendir((folder + "/fd").c_str()));
    if (!files) {
      found.closed_to_us += errno == EACCES || errno == EPERM ? 1 : 0;
      continue;
    }
    if (auto page = page_of(*pid, folder, files.get(), clock)) {
      found.pages.push_back(std::move(*page));
    }
  }
  std::sort(found.pages.begin(), found.pages.end(),
            [](const FoundPage& a, const FoundPage& b) { return a.pid < b.pid; });
  return found;
}

}  // namespace tfabric::observe
