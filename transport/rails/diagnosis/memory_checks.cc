#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <sstream>
#include <string>

#include "host/limits.h"
#include "hugepage/budget.h"
#include "transport/rails/diagnosis/examine.h"
#include "transport/rails/memory_need.h"
#include "transport/rails/rail_share.h"

namespace tfabric::rails {
namespace {

using diagnosis::Id;
using diagnosis::Severity;

constexpr const char* kSubject = "memory";
constexpr std::uint64_t kMib = std::uint64_t{1} << 20;

std::string free_text(const hugepage::Pages& pages) {
  std::string text;
  for (const hugepage::PageSize& size : pages.sizes) {
    if (size.total == 0) {
      continue;
    }
    text += fmt::format("{}{} of {} pages of {} MiB", text.empty() ? "" : " and ", size.free, size.total,
                        size.bytes / kMib);
  }
  return text;
}

// Returns the command that reserves as many of the smallest pages as one process lacks.
std::string reserve(const hugepage::Pages& pages, std::uint32_t need_mib) {
  const hugepage::PageSize& size = pages.sizes.back();
  const std::uint64_t lacking = need_mib * kMib - pages.free_bytes();
  const std::uint64_t more = (lacking + size.bytes - 1) / size.bytes;
  return fmt::format(
      "as root, for one process: echo {} > /sys/kernel/mm/hugepages/hugepages-{}kB/nr_hugepages ({} more for "
      "each further process)",
      size.total + more, size.bytes / 1024, (need_mib * kMib + size.bytes - 1) / size.bytes);
}

// Returns what happens if there are too few hugepages.
const char* instead_of_pages(hugepage::Mode mode) {
  switch (mode) {
    case hugepage::Mode::required:
      return "memory.hugepages is \"required\": DPDK does not start without them";
    case hugepage::Mode::physical:
      return "a NIC without an IOMMU reads nothing else: DPDK does not start without them";
    default:
      return "ordinary memory is taken instead, which costs a NIC's IOMMU more";
  }
}

Severity severity_of(hugepage::Mode mode) {
  return mode == hugepage::Mode::automatic ? Severity::warning : Severity::error;
}

void report_too_few(hugepage::Mode mode, const hugepage::Pages& pages, std::uint32_t need_mib,
                    Findings& findings) {
  const std::string instead = instead_of_pages(mode);
  const Severity severity = severity_of(mode);
  const bool none =
      std::all_of(pages.sizes.begin(), pages.sizes.end(), [](const auto& size) { return size.total == 0; });
  if (pages.sizes.empty()) {
    findings.add(severity, Id::hugepages_none, kSubject,
                 fmt::format("this kernel offers no hugepages, and {} MiB are needed a process; {}", need_mib,
                             instead),
                 mode == hugepage::Mode::physical ? "a kernel that has them (CONFIG_HUGETLBFS), or an IOMMU"
                                                  : "memory.hugepages = \"off\"");
  } else if (none) {
    findings.add(
        severity, Id::hugepages_none, kSubject,
        fmt::format("no hugepages are reserved, and {} MiB are needed a process; {}", need_mib, instead),
        reserve(pages, need_mib));
  } else {
    findings.add(
        severity, Id::hugepages_too_few, kSubject,
        fmt::format("{} are free, and {} MiB are needed a process; {}", free_text(pages), need_mib, instead),
        reserve(pages, need_mib));
  }
}

// Enough hugepages are free, but the control groups do not let this process have them.
void report_limited(const diagnosis::Host& host, hugepage::Mode mode, const AllowedPages& allowed,
                    std::uint32_t need_mib, Findings& findings) {
  std::string kubernetes, file;
  std::uint64_t enough = 0;
  for (const hugepage::PageSize& size : allowed.pages.sizes) {
    const auto limit = host::hugetlb_limit(host.root, size.bytes);
    if (limit && allowed.limits.find(limit->file) != std::string::npos) {
      const std::uint64_t whole = (need_mib * kMib + size.bytes - 1) / size.bytes * size.bytes;
      kubernetes = fmt::format("hugepages-{}: {}Mi", size.bytes >= kMib * 1024 ? "1Gi" : "2Mi", whole / kMib);
      enough = limit->used + whole;
      file = limit->file;
    }
  }
  findings.add(
      severity_of(mode), Id::cgroup_hugetlb_too_small, kSubject,
      fmt::format("the control group lets this process have {} MiB of the hugepages ({}), and {} MiB are "
                  "needed; {}",
                  allowed.pages.free_bytes() / kMib, allowed.limits, need_mib, instead_of_pages(mode)),
      fmt::format("as root: echo {} > {}; Kubernetes: `{}` in the pod's limits", enough, file, kubernetes));
}

void check_rounding(const hugepage::Pages& pages, std::uint32_t need_mib, Findings& findings) {
  constexpr std::uint64_t kGib = std::uint64_t{1} << 30;
  const bool small = std::any_of(pages.sizes.begin(), pages.sizes.end(),
                                 [](const auto& size) { return size.bytes < kGib && size.free > 0; });
  const std::uint64_t whole = (need_mib * kMib + kGib - 1) / kGib;
  if (!small) {
    findings.note(
        Id::hugepages_rounded_up, kSubject,
        fmt::format("all free hugepages are of 1 GiB: each process takes {} GiB for the {} MiB that "
                    "it needs",
                    whole, need_mib));
  }
}

// tfabric needs no hugetlbfs, since its pages have no names. But DPDK does not start where one is mounted
// that it may not read.
void check_hugetlbfs(const diagnosis::Host& host, Findings& findings) {
  bool mounted = false;
  for (const std::string& line : host.lines("/proc/mounts")) {
    std::string device, folder, type;
    std::istringstream(line) >> device >> folder >> type;
    if (type != "hugetlbfs") {
      continue;
    }
    mounted = true;
    if (!host.access(folder, R_OK | X_OK)) {
      findings.error(
          Id::hugetlbfs_denied, kSubject,
          fmt::format("this user (uid {}) may not read the hugetlbfs at {}, and DPDK looks into it",
                      host.user(), folder),
          fmt::format("as root: chmod a+rx {}", folder));
    }
  }
  if (!mounted) {
    findings.note(Id::hugetlbfs_not_mounted, kSubject,
                  "no hugetlbfs is mounted; tfabric does without, other programs may not");
  }
}

void check_hugepages(const diagnosis::Host& host, const hugepage::Pages& pages, std::uint32_t need_mib,
                     Findings& findings) {
  findings.note(
      Id::hugepages_used, kSubject,
      fmt::format("a process takes up to {} MiB of hugepages; free are {}", need_mib, free_text(pages)));
  check_rounding(pages, need_mib, findings);
  check_hugetlbfs(host, findings);
}

void check_ordinary(const diagnosis::Host& host, std::uint32_t need_mib, Findings& findings) {
  if (const Status status = check_ordinary_memory(need_mib, host.root); !status) {
    findings.error(
        Id::cgroup_memory_too_small, kSubject, status.error().message,
        "raise it (Kubernetes: `memory` in the pod's limits; docker: --memory), or use fewer rails "
        "or a smaller mtu");
  }
}

// There are too few free pages, or enough that this process may not have.
void report_missing(const diagnosis::Host& host, hugepage::Mode mode, const AllowedPages& allowed,
                    std::uint32_t need_mib, Findings& findings) {
  const hugepage::Pages all = hugepage::discover_pages(host.root);
  if (all.free_bytes() >= need_mib * kMib) {
    report_limited(host, mode, allowed, need_mib, findings);
  } else {
    report_too_few(mode, all, need_mib, findings);
  }
}

// `who` locks the memory.
void check_memlock(const diagnosis::Host& host, const char* who, std::uint32_t need_mib, Findings& findings) {
  if (!host.may_lock(need_mib * kMib)) {
    findings.error(Id::memlock_too_low, "locked memory",
                   fmt::format("a process may lock {} KiB (ulimit -l), and {} locks {} MiB for the rails",
                               host.memlock_bytes / 1024, who, need_mib),
                   diagnosis::kMemlockFix);
  }
}

}  // namespace

void check_memory(const diagnosis::Host& host, const config::Config& config, Findings& findings) {
  const hugepage::Need needs = memory_need_mib(largest_share(config));
  const AllowedPages allowed = allowed_pages(host.root);
  const bool physical = takes_physical_addresses(config.tcp, host.sysfs());
  const hugepage::Mode mode = page_mode(config, physical);
  const bool nic = has_nic(config.tcp);
  const auto budget = hugepage::choose_budget(mode, needs, config.memory.budget_mib, allowed.pages);
  const bool in_hugepages = budget ? budget->hugepages : mode != hugepage::Mode::off;
  const std::uint32_t need = in_hugepages ? needs.hugepages : needs.ordinary;
  if (!budget && config.memory.budget_mib != 0 && config.memory.budget_mib < need) {
    findings.error(Id::memory_budget_too_small, kSubject,
                   fmt::format("memory.budget_mib is {}, and the rails need {} MiB a process",
                               config.memory.budget_mib, need),
                   fmt::format("memory.budget_mib = {}, or fewer rails, or a smaller mtu", need));
    return;
  }
  if (!budget) {
    report_missing(host, mode, allowed, need, findings);
  } else if (budget->hugepages) {
    check_hugepages(host, allowed.pages, need, findings);
  } else {
    if (mode != hugepage::Mode::off) {
      report_missing(host, mode, allowed, needs.hugepages, findings);
    } else if (nic) {
      findings.note(Id::hugepages_off, kSubject,
                    "memory.hugepages is \"off\": NICs use ordinary memory, which costs their IOMMU more",
                    "memory.hugepages = \"auto\"");
    }
    check_ordinary(host, need, findings);
  }
  // Without an IOMMU no memory is locked, because hugepages keep their physical addresses.
  if (nic && !physical) {
    check_memlock(host, "VFIO", need, findings);
  }
  check_memlock(host, "AF_XDP", af_xdp_locked_mib(largest_share(config)), findings);
}

}  // namespace tfabric::rails
