// The pages in a folder: of processes that this one cannot look into by /proc, and of those that have ended.
#pragma once

#include <cstdint>
#include <string>

#include "base/time.h"
#include "observe/finder.h"

namespace tfabric::observe {

// Adds them to what was found, but for those that are there already. `only`: of this process; 0: all. What
// is no page has no effect, whatever it is. A folder that cannot be read has none either.
void add_pages_of(const std::string& folder, std::uint32_t only, Instant (*clock)(), Found& found,
                  const std::string& proc = "/proc");

}  // namespace tfabric::observe
