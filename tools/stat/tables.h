// What `tfabric stat` prints.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "tools/stat/lines.h"
#include "tools/stat/rates.h"

namespace tfabric::stat {

enum class Level { rail, peer, comm, flow };

struct Shown {
  std::string text;      // all lines end in a newline
  std::size_t rows = 0;  // of the table
  std::size_t page = 0;  // how many of them fit
};

// The table of this level, and below it what is to be said. Where not all rows fit, those that stand out are
// first: of comms always, so that what waits longest is on top. `first`: a row, to turn pages.
[[nodiscard]] Shown show(const std::vector<Process>& processes, Level level, const Fit& fit,
                         std::size_t first = 0);
// The same, of any height.
[[nodiscard]] std::string to_text(const std::vector<Process>& processes, Level level, std::size_t width = 0);

}  // namespace tfabric::stat
