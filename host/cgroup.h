// What the control groups of this process let it take of memory. Version 1 and 2, whichever has the files;
// inside a container, whose own group is the root that it sees.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace tfabric::host {

struct Limit {
  std::uint64_t bytes = 0;  // what is left below it
  std::uint64_t used = 0;
  std::string file;  // where it is set, for people
};

// The tightest of all groups above the process. Nothing: there is none. `root` stands before /sys and /proc;
// tests give their own.
[[nodiscard]] std::optional<Limit> hugetlb_limit(const std::string& root, std::uint64_t page_bytes);
[[nodiscard]] std::optional<Limit> memory_limit(const std::string& root);

}  // namespace tfabric::host
