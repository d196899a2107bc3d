#include "tools/stat/selection.h"

#include <fmt/format.h>

namespace tfabric::stat {

void add_selection(CLI::App& command, Selection& selection) {
  command.add_option("--pid", selection.pid, "only this process")
      ->check(CLI::PositiveNumber)
      ->type_name("PID");
  command.add_option("--rank", selection.rank, "only this rank of the job")
      ->check(CLI::NonNegativeNumber)
      ->type_name("RANK");
}

observe::Found look(const Selection& selection) {
  observe::Found found = observe::find_pages(selection.pid, monotonic_now);
  if (selection.rank >= 0) {
    std::erase_if(found.pages, [&](const observe::FoundPage& page) {
      return page.snapshot && page.snapshot->rank != selection.rank;
    });
  }
  return found;
}

std::string what_is_missing(const observe::Found& found, const Selection& selection,
                            std::string_view command) {
  std::string text;
  for (const observe::FoundPage& page : found.pages) {
    if (!page.snapshot) {
      text += fmt::format("process {}: {}\n", page.pid, page.snapshot.error().message);
    }
  }
  if (!found.pages.empty()) {
    return text;
  }
  const std::string which =
      selection.pid != 0    ? fmt::format("process {} does not use tfabric", selection.pid)
      : selection.rank >= 0 ? fmt::format("no process here is rank {} of a job over tfabric", selection.rank)
                            : std::string("no process here uses tfabric");
  text += fmt::format("tfabric {}: {}, or it has observe.page = false", command, which);
  if (found.closed_to_us > 0) {
    text +=
        fmt::format("; {} processes belong to other users: run it as root to see theirs", found.closed_to_us);
  }
  return text + "\n";
}

}  // namespace tfabric::stat
