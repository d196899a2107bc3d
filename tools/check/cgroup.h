// What the control groups of this process let it take of memory. Version 1 and 2, whichever has the files;
// inside a container, whose own group is the root that it sees.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "tools/check/host.h"

namespace tfabric::check {

struct Limit {
  std::uint64_t bytes = 0;  // what is left below it
  std::string file;         // where it is set, for people
};

// The tightest of all groups above the process. Nothing: there is none.
[[nodiscard]] std::optional<Limit> hugetlb_limit(const Host& host, std::uint64_t page_bytes);
[[nodiscard]] std::optional<Limit> memory_limit(const Host& host);

}  // namespace tfabric::check
