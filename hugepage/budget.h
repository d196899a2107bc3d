// Which hugepages this host has, and whether the stack's packet memory comes from them or from ordinary
// memory.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"

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

// Reads sysfs. `root` is put before /sys; tests pass their own.
[[nodiscard]] Pages discover_pages(const std::string& root = "");

enum class Mode : std::uint8_t {
  automatic,  // hugepages if enough are free
  required,   // hugepages or an error, as configured
  physical,   // hugepages or an error: devices use physical addresses, and only hugepages keep theirs
  off         // ordinary memory
};

struct Budget {
  bool hugepages = false;
  // The limit for DPDK: the rails' need rounded up to whole pages, because a page that exceeds the limit is
  // refused.
  std::uint32_t mib = 0;
  std::string explanation;  // one line for the log
};

// The rails' need in MiB. It is larger in ordinary memory, where fewer packet buffers fit into a page.
struct Need {
  Need(std::uint32_t either) : hugepages(either), ordinary(either) {}  // implicit: usually they are equal
  Need(std::uint32_t in_hugepages, std::uint32_t in_ordinary)
      : hugepages(in_hugepages), ordinary(in_ordinary) {}
  std::uint32_t hugepages, ordinary;
};

// `limit_mib` is the most that a process may take; 0: no limit.
Result<Budget> choose_budget(Mode mode, const Need& need, std::uint32_t limit_mib, const Pages& pages);

// HARP's rule for a host with `gpus` GPUs, GPUs x 5 + 10 GiB, in MiB. It is the documented maximum of a host
// and not a need; docs/configuration.md has what a process takes.
[[nodiscard]] constexpr std::uint32_t host_maximum_mib(std::uint32_t gpus) { return (gpus * 5 + 10) * 1024; }

}  // namespace tfabric::hugepage
