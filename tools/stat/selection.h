// Which processes a sub-command looks at, and what it says of those that it cannot show.
#pragma once

#include <CLI/CLI.hpp>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "observe/finder.h"

namespace tfabric::stat {

struct Selection {
  std::uint32_t pid = 0;   // 0: all
  std::int64_t rank = -1;  // -1: all
  std::string folder;      // only the pages in it; empty: those of running processes, and in folders()
};

// Where pages are looked for: /run/tfabric, and the folder of this user's configuration.
[[nodiscard]] std::vector<std::string> folders();

// The options --pid, --rank and --folder.
void add_selection(CLI::App& command, Selection& selection);
// The pages of the processes that are selected, as they are now.
[[nodiscard]] observe::Found look(const Selection& selection);
// Of pages that were found otherwise, keeps those of this process and rank.
void keep_selected(const Selection& selection, observe::Found& found);
// Returns why nothing, or not all, can be shown; empty if all can. `command`: who says so.
[[nodiscard]] std::string what_is_missing(const observe::Found& found, const Selection& selection,
                                          std::string_view command);

}  // namespace tfabric::stat
