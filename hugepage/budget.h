// Where the stack's memory comes from: hugepages where there are any, ordinary memory where not.
//
// HARP reserves GPUs x 5 + 10 GiB of 1 GiB pages for a host. That is the documented maximum, not a need:
// docs/configuration.md has what a process takes.
#pragma once

#include <cstdint>
#include <string>

#include "base/result.h"
#include "hugepage/pages.h"

namespace tfabric::hugepage {

enum class Mode : std::uint8_t {
  automatic,  // hugepages if enough are free
  required,   // hugepages or nothing, as the configuration says
  physical,  // hugepages or nothing: devices read them by their physical addresses, and they alone stay there
  off        // ordinary memory
};

struct Budget {
  bool hugepages = false;
  // What DPDK may take: what the rails need, in whole pages, since it is refused a page that would go beyond.
  std::uint32_t mib = 0;
  std::string explanation;  // one line for the log
};

// What the rails need, in MiB. Where pages are small, fewer of their packet buffers fit.
struct Need {
  Need(std::uint32_t either) : hugepages(either), ordinary(either) {}  // implicit: mostly they are the same
  Need(std::uint32_t in_hugepages, std::uint32_t in_ordinary)
      : hugepages(in_hugepages), ordinary(in_ordinary) {}
  std::uint32_t hugepages, ordinary;
};

// `limit_mib`: the most a process may take; 0: no limit.
Result<Budget> choose_budget(Mode mode, const Need& need, std::uint32_t limit_mib, const Pages& pages);

// HARP's rule for a host with `gpus` GPUs, in MiB.
[[nodiscard]] constexpr std::uint32_t host_maximum_mib(std::uint32_t gpus) { return (gpus * 5 + 10) * 1024; }

}  // namespace tfabric::hugepage
