// The manual pages: one for `tfabric`, one for each of its sub-commands, and tfabric.toml(5).
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "tools/documents/command.h"

namespace tfabric::documents {

struct ManualPage {
  std::string file;  // "tfabric-perf.1"
  std::string text;
};

// Options come from the command line's definitions, the rest from the pages in `docs`, a folder. Fails if a
// page or a section of one is missing there.
[[nodiscard]] Result<std::vector<ManualPage>> manual_pages(const Command& tfabric, const std::string& docs);

}  // namespace tfabric::documents
