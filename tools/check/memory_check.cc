#include "tools/check/memory_check.h"

#include <fmt/format.h>

#include <algorithm>
#include <string>

#include "hugepage/budget.h"
#include "hugepage/pages.h"
#include "tools/check/cgroup.h"
#include "tools/check/hugetlbfs_check.h"
#include "tools/check/memlock_check.h"
#include "transport/tcp/memory_need.h"

namespace tfabric::check {
namespace {

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

// Reserves, of the smallest pages, those that one process lacks.
std::string reserve(const hugepage::Pages& pages, std::uint32_t need_mib) {
  const hugepage::PageSize& size = pages.sizes.back();
  const std::uint64_t lacking = need_mib * kMib - pages.free_bytes();
  const std::uint64_t more = (lacking + size.bytes - 1) / size.bytes;
  return fmt::format(
      "as root, for one process: echo {} > /sys/kernel/mm/hugepages/hugepages-{}kB/nr_hugepages ({} more for "
      "each further process)",
      size.total + more, size.bytes / 1024, (need_mib * kMib + size.bytes - 1) / size.bytes);
}

const char* instead_of_hugepages(hugepage::Mode mode) {
  switch (mode) {
    case hugepage::Mode::required:
      return "memory.hugepages is \"required\": DPDK does not start without them";
    case hugepage::Mode::physical:
      return "a NIC without an IOMMU reads nothing else: DPDK does not start without them";
    default:
      return "ordinary memory is taken instead, which costs a NIC's IOMMU more";
  }
}

void report_too_few(hugepage::Mode mode, const hugepage::Pages& pages, std::uint32_t need_mib,
                    Findings& findings) {
  const std::string instead = instead_of_hugepages(mode);
  const Severity severity = mode == hugepage::Mode::automatic ? Severity::warning : Severity::error;
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

// What of the free pages the control groups leave, against SIGBUS: a page is only counted when it is touched.
void check_hugetlb_groups(const Host& host, const hugepage::Pages& pages, std::uint32_t need_mib,
                          Findings& findings) {
  std::uint64_t sum = 0;
  std::string files, kubernetes;
  for (const hugepage::PageSize& size : pages.sizes) {
    const std::uint64_t free = size.bytes * size.free;
    const auto limit = hugetlb_limit(host, size.bytes);
    sum += limit ? std::min(free, limit->bytes) : free;
    if (limit && limit->bytes < free) {
      files += (files.empty() ? "" : ", ") + limit->file;
      kubernetes = fmt::format("hugepages-{}: {}Mi", size.bytes >= kMib * 1024 ? "1Gi" : "2Mi",
                               (need_mib * kMib + size.bytes - 1) / size.bytes * size.bytes / kMib);
    }
  }
  if (sum < need_mib * kMib) {
    findings.error(
        Id::cgroup_hugetlb_too_small, kSubject,
        fmt::format("the control group lets this process have {} MiB of the hugepages ({}), and {} "
                    "MiB are needed: the kernel would end it by SIGBUS",
                    sum / kMib, files, need_mib),
        fmt::format("Kubernetes: `{}` in the pod's limits; else as root: echo {} > {}", kubernetes,
                    need_mib * kMib, files));
  }
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

void check_hugepages(const Host& host, const hugepage::Pages& pages, std::uint32_t need_mib,
                     Findings& findings) {
  findings.note(
      Id::hugepages_used, kSubject,
      fmt::format("a process takes up to {} MiB of hugepages; free are {}", need_mib, free_text(pages)));
  check_rounding(pages, need_mib, findings);
  check_hugetlbfs(host, findings);
  check_hugetlb_groups(host, pages, need_mib, findings);
}

void check_ordinary(const Host& host, std::uint32_t need_mib, Findings& findings) {
  const auto limit = memory_limit(host);
  if (limit && limit->bytes < need_mib * kMib) {
    findings.error(
        Id::cgroup_memory_too_small, kSubject,
        fmt::format("the control group allows {} MiB of memory ({}), and tfabric alone takes up to "
                    "{} MiB: the kernel would kill the process",
                    limit->bytes / kMib, limit->file, need_mib),
        "raise it (Kubernetes: `memory` in the pod's limits; docker: --memory), or use fewer rails "
        "or a smaller mtu");
  }
}

}  // namespace

void check_memory(const Host& host, const config::Config& config, Findings& findings) {
  const std::uint32_t need = tcp::memory_need_mib(config.tcp);
  const hugepage::Pages pages = hugepage::discover_pages(host.root);
  const bool physical = !tcp::rails_without_iommu(config.tcp, host.sysfs()).empty();
  const hugepage::Mode mode = tcp::page_mode(config, physical);
  const bool nic = tcp::has_nic(config.tcp);
  const auto budget = hugepage::choose_budget(mode, need, config.memory.budget_mib, pages);
  if (!budget && config.memory.budget_mib != 0 && config.memory.budget_mib < need) {
    findings.error(Id::memory_budget_too_small, kSubject,
                   fmt::format("memory.budget_mib is {}, and the rails need {} MiB a process",
                               config.memory.budget_mib, need),
                   fmt::format("memory.budget_mib = {}, or fewer rails, or a smaller mtu", need));
    return;
  }
  if (!budget) {
    report_too_few(mode, pages, need, findings);
  } else if (budget->hugepages) {
    check_hugepages(host, pages, need, findings);
  } else {
    if (mode != hugepage::Mode::off) {
      report_too_few(mode, pages, need, findings);
    } else if (nic) {
      findings.note(Id::hugepages_off, kSubject,
                    "memory.hugepages is \"off\": NICs use ordinary memory, which costs their IOMMU more",
                    "memory.hugepages = \"auto\"");
    }
    check_ordinary(host, need, findings);
  }
  // Without an IOMMU nobody locks memory: hugepages stay where they are.
  if (nic && !physical) {
    check_memlock_for_nics(host, need, findings);
  }
}

}  // namespace tfabric::check
