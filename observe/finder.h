// The pages of the processes on this host, in all containers that this user can look into.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/descriptor.h"
#include "base/result.h"
#include "base/time.h"
#include "observe/reader.h"

namespace tfabric::observe {

struct FoundPage {
  std::uint32_t pid = 0;  // as this process sees it
  bool stopped = false;   // by a signal, a debugger or a freezer
  Result<Snapshot> snapshot;
  std::shared_ptr<Descriptor> file{};  // the page; null: it could not be opened
  // Its process has ended without closing its comms: this is its last state, of the moment `taken_at`, and
  // it has ended so long ago at most.
  std::optional<Duration> ended{};
  // Its process lives in another PID namespace, where it has this pid. Whether it is stopped is not known.
  bool elsewhere = false;
};

struct Found {
  std::vector<FoundPage> pages;  // by pid
  // Processes whose open files this user may not see; any of them may have a page.
  std::size_t closed_to_us = 0;
  std::size_t closed_files = 0;  // pages in folders that this user may not read
};

// Looks at each process of `proc`, the mount point of procfs(5), or only at the one given (0: all).
[[nodiscard]] Found find_pages(std::uint32_t only, Instant (*clock)(), const std::string& proc = "/proc");

}  // namespace tfabric::observe
