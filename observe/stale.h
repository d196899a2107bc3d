// Pages that processes have left in a folder: what is kept of them, and how they go.
#pragma once

#include <sys/stat.h>

#include <chrono>
#include <cstddef>
#include <string>

namespace tfabric::observe {

using WallTime = std::chrono::system_clock::time_point;

// How long a page is kept after it was first found left, and how many of a user are in a folder.
inline constexpr std::chrono::hours kKeptFor{1};
inline constexpr std::size_t kMostKept = 16;

// What a process does that starts: of this user's pages that were left, it marks those that it is the first
// to find, by their time of change and by taking the right to write away, and removes those that are too old
// or too many. A page does not say when its process has ended: what hung for hours and was killed just now
// would be removed if it counted from the last sign of life.
void clean_folder(const std::string& folder, WallTime now);

[[nodiscard]] WallTime changed_at(const struct stat& file);

struct Removed {
  std::size_t pages = 0;
  std::size_t of_others = 0;  // that this user may not look at, or not remove
};
// Removes all pages that processes have left, of other users, too, as far as this user may.
[[nodiscard]] Removed remove_left(const std::string& folder);

}  // namespace tfabric::observe
