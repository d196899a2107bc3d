// Which hugepages this host offers, as sysfs tells.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace tfabric::hugepage {

struct PageSize {
  std::uint64_t bytes = 0;  // of one page
  std::uint64_t total = 0;  // pages reserved
  std::uint64_t free = 0;   // of these, not in use
};

struct NodePages {
  int node = 0;
  std::vector<PageSize> sizes;
};

struct Pages {
  std::vector<PageSize> sizes;  // of the host, largest first
  std::vector<NodePages> nodes;

  [[nodiscard]] std::uint64_t free_bytes() const;
};

// `root` stands before /sys; tests give their own.
[[nodiscard]] Pages discover_pages(const std::string& root = "");

}  // namespace tfabric::hugepage
