#include "tools/stat/selection.h"

#include <fmt/format.h>

#include <filesystem>

#include "config/config.h"
#include "observe/folder_finder.h"
#include "observe/kept_file.h"

namespace tfabric::stat {

void add_selection(CLI::App& command, Selection& selection) {
  command.add_option("--pid", selection.pid, "only this process")
      ->check(CLI::PositiveNumber)
      ->type_name("PID");
  command.add_option("--rank", selection.rank, "only this rank of the job")
      ->check(CLI::NonNegativeNumber)
      ->type_name("RANK");
  command
      .add_option("--folder", selection.folder,
                  "only the pages in this folder, which processes have there by observe.folder")
      ->check(CLI::ExistingDirectory)
      ->type_name("FOLDER");
}

std::vector<std::string> folders() {
  std::vector<std::string> all{observe::kPageFolder};
  // Faults of the configuration are for `tfabric check` to find.
  if (const auto config = config::load()) {
    const std::string& own = config->observe.folder.text();
    if (own.starts_with('/') && own != all.front()) {
      all.push_back(own);
    }
  }
  return all;
}

observe::Found look(const Selection& selection) {
  observe::Found found;
  if (selection.folder.empty()) {
    found = observe::find_pages(selection.pid, monotonic_now);
    for (const std::string& folder : folders()) {
      observe::add_pages_of(folder, selection.pid, monotonic_now, found);
    }
  } else {
    observe::add_pages_of(selection.folder, selection.pid, monotonic_now, found);
  }
  keep_selected(selection, found);
  return found;
}

void keep_selected(const Selection& selection, observe::Found& found) {
  std::erase_if(found.pages, [&](const observe::FoundPage& page) {
    return (selection.pid != 0 && page.pid != selection.pid) ||
           (selection.rank >= 0 && page.snapshot && page.snapshot->rank != selection.rank);
  });
}

namespace {

// Why no page was found.
std::string why_none(const Selection& selection) {
  if (!selection.folder.empty()) {
    return fmt::format("{} has no page", selection.folder);
  }
  if (selection.pid != 0 && !std::filesystem::exists(fmt::format("/proc/{}", selection.pid))) {
    return fmt::format(
        "there is no process {} here, and none with this number has left its page, as those that are killed "
        "do where there is a folder for it (observe.folder)",
        selection.pid);
  }
  const std::string which =
      selection.pid != 0    ? fmt::format("process {} does not use tfabric", selection.pid)
      : selection.rank >= 0 ? fmt::format("no process here is rank {} of a job over tfabric", selection.rank)
                            : std::string("no process here uses tfabric");
  return which + ", or it has observe.page = false";
}

}  // namespace

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
  text += fmt::format("tfabric {}: {}", command, why_none(selection));
  if (found.closed_to_us > 0) {
    text +=
        fmt::format("; {} processes belong to other users: run it as root to see theirs", found.closed_to_us);
  }
  if (found.closed_files > 0) {
    text += fmt::format("; {} pages in folders are closed to this user (observe.group)", found.closed_files);
  }
  return text + "\n";
}

}  // namespace tfabric::stat
