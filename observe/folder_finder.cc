#include "observe/folder_finder.h"

#include <dirent.h>
#include <fmt/format.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <memory>
#include <optional>
#include <utility>

#include "observe/kept_file.h"
#include "observe/process_stat.h"
#include "observe/stale.h"

namespace tfabric::observe {
namespace {

struct CloseFolder {
  void operator()(DIR* folder) const { closedir(folder); }
};
using Folder = std::unique_ptr<DIR, CloseFolder>;

// By /proc, a page is found as well whose process has a file in a folder.
bool is_among(const struct stat& file, const Found& found) {
  return std::any_of(found.pages.begin(), found.pages.end(), [&](const FoundPage& page) {
    struct stat other {};
    return page.file && fstat(page.file->get(), &other) == 0 && other.st_dev == file.st_dev &&
           other.st_ino == file.st_ino;
  });
}

// When one of its engines was turned last; nothing if none was, before `now`.
std::optional<Instant> last_turn_of(const Snapshot& snapshot, Instant now) {
  std::uint64_t last = 0;
  for (const auto& engine : rows_of<EngineFacts>(snapshot)) {
    last = engine.turned_at <= in_nanoseconds(now) ? std::max(last, engine.turned_at) : last;
  }
  return last == 0 ? std::nullopt : std::optional(Instant(Duration(static_cast<Duration::rep>(last))));
}

Duration age_of(const struct stat& file) {
  return std::max<Duration>(std::chrono::system_clock::now() - changed_at(file), Duration(0));
}

void set_ended(FoundPage& page, const struct stat& file) {
  page.ended = age_of(file);
  if (!page.snapshot) {
    return;
  }
  if (const auto last = last_turn_of(*page.snapshot, page.snapshot->taken_at)) {
    page.ended = page.snapshot->taken_at - *last;
    page.snapshot->taken_at = *last;
  }
}

// Finds the process among those that this one sees.
void set_owner(FoundPage& page, const std::string& proc) {
  if (!page.snapshot) {
    return;
  }
  const PageOwner owner = owner_of(fmt::format("{}/{}", proc, page.snapshot->pid));
  const bool same = owner.pid_inside == page.snapshot->pid && owner.started == page.snapshot->process_started;
  page.stopped = same && owner.stopped;
  page.elsewhere = !same;
}

// Nothing if it is no page, or none any more.
std::optional<FoundPage> page_in(const std::shared_ptr<Descriptor>& file, std::uint32_t pid, Instant now,
                                 const std::string& proc) {
  FoundPage page{.pid = pid, .snapshot = read_page(file->get(), now), .file = file};
  page.pid = page.snapshot ? page.snapshot->pid : pid;
  if (page_is_held(file->get())) {
    if (!page.snapshot && !begins_like_page(file->get())) {
      return std::nullopt;  // it is being made
    }
    set_owner(page, proc);
    return page;
  }
  // It goes before its lock does, when its process ends in order.
  struct stat status {};
  if (fstat(file->get(), &status) != 0 || status.st_nlink == 0) {
    return std::nullopt;
  }
  set_ended(page, status);
  return page;
}

}  // namespace

void add_pages_of(const std::string& folder, std::uint32_t only, Instant (*clock)(), Found& found,
                  const std::string& proc) {
  const Folder files(opendir(folder.c_str()));
  while (const dirent* entry = files ? readdir(files.get()) : nullptr) {
    const auto pid = pid_in_page_name(entry->d_name);
    if (!pid || (only != 0 && *pid != only)) {
      continue;
    }
    const auto file = std::make_shared<Descriptor>(open_kept(dirfd(files.get()), entry->d_name));
    struct stat status {};
    if (file->get() < 0 || fstat(file->get(), &status) != 0) {
      found.closed_files += errno == EACCES || errno == EPERM ? 1 : 0;
      continue;
    }
    if (is_among(status, found)) {
      continue;
    }
    if (auto page = page_in(file, *pid, clock(), proc)) {
      found.pages.push_back(std::move(*page));
    }
  }
  std::sort(found.pages.begin(), found.pages.end(),
            [](const FoundPage& a, const FoundPage& b) { return a.pid < b.pid; });
}

}  // namespace tfabric::observe
