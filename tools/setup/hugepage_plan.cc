#include "tools/setup/hugepage_plan.h"

#include <fmt/format.h>

#include <algorithm>

namespace tfabric::setup {
namespace {

constexpr std::uint64_t kLargeMib = 1024, kSmallMib = 2;

std::uint64_t divide_up(std::uint64_t a, std::uint64_t b) { return (a + b - 1) / b; }

struct Need {
  std::uint64_t mib = 0;
  std::uint64_t large = 0;  // pages of 1 GiB: a process shares none with another
};

std::uint64_t ranks_of(const Facts& facts, const PlanOptions& options) {
  return options.ranks.value_or(std::max(facts.gpus, 1u));
}

// Ranks share the rails out among themselves (docs/rails.md). The one that needs most has those of the
// largest MTU.
std::vector<Eni> largest_share(std::vector<Eni> enis, std::uint64_t ranks) {
  std::stable_sort(enis.begin(), enis.end(), [](const Eni& a, const Eni& b) { return a.mtu > b.mtu; });
  enis.resize(divide_up(enis.size(), ranks));
  return enis;
}

Need need_of(const Facts& facts, const PlanOptions& options, const std::vector<Eni>& enis) {
  if (options.hugepages_gib) {
    return {.mib = *options.hugepages_gib * kLargeMib, .large = *options.hugepages_gib};
  }
  const std::uint64_t ranks = ranks_of(facts, options);
  const std::uint64_t each = process_need_mib(largest_share(enis, ranks));
  return {.mib = each * ranks, .large = divide_up(each, kLargeMib) * ranks};
}

const hugepage::PageSize* find(const hugepage::Pages& pages, std::uint64_t mib) {
  const auto found = std::find_if(pages.sizes.begin(), pages.sizes.end(),
                                  [&](const auto& size) { return size.bytes == mib << 20; });
  return found == pages.sizes.end() ? nullptr : &*found;
}

// The number of all pages with which so many are free.
std::uint64_t total_for(const hugepage::PageSize& size, std::uint64_t needed) {
  return size.total + (needed > size.free ? needed - size.free : 0);
}

}  // namespace

std::uint64_t process_need_mib(const std::vector<Eni>& enis) {
  // Measured maxima of that page, rounded up; a `pci` rail's depend on whether its buffers are of 2 KiB.
  constexpr std::uint64_t kProcess = 40, kRail = 46, kJumboRail = 74;
  constexpr std::uint32_t kSmallMtu = 2048;
  std::uint64_t mib = kProcess;
  for (const Eni& eni : enis) {
    mib += eni.mtu <= kSmallMtu ? kRail : kJumboRail;
  }
  return mib;
}

Result<std::unique_ptr<HugepageStep>> plan_hugepages(const Facts& facts, const PlanOptions& options,
                                                     const std::vector<Eni>& enis) {
  const Need need = need_of(facts, options, enis);
  if (const HugepageStep earlier(facts.hugepages);
      !facts.hugepages.is_null() && earlier.need_mib() == need.mib) {
    return std::make_unique<HugepageStep>(
        facts.hugepages);  // its pages may be in use by now, which makes them no fewer
  }
  const hugepage::PageSize* small = find(facts.pages, kSmallMib);
  if (small == nullptr) {
    return Error{Errc::unusable,
                 "this kernel offers no hugepages of 2 MiB (expected "
                 "/sys/kernel/mm/hugepages/hugepages-2048kB): one with CONFIG_HUGETLBFS is needed"};
  }
  const std::uint64_t small_total = total_for(*small, divide_up(need.mib, kSmallMib));
  const hugepage::PageSize* large = find(facts.pages, kLargeMib);
  std::uint64_t large_total = 0;
  if (large != nullptr) {
    // A whole page for each process is much of a small host's memory; pages that are there already cost
    // nothing.
    const std::uint64_t total = total_for(*large, need.large);
    large_total = (total - large->total) * kLargeMib <= facts.available_mib / 2 ? total : 0;
  }
  const std::uint64_t more_mib = (small_total - small->total) * kSmallMib;
  if (more_mib > facts.available_mib && (large_total == 0 || large_total > large->total)) {
    return Error{
        Errc::unusable,
        fmt::format(
            "{} MiB of hugepages are needed, and the host has {} MiB of memory left: fewer --ranks, or "
            "less by --hugepages",
            need.mib, facts.available_mib)};
  }
  return std::make_unique<HugepageStep>(large_total, small_total, need.mib);
}

std::string kernel_arguments(const HugepageStep& step) {
  return step.large() != 0 ? fmt::format("hugepagesz=1G hugepages={}", step.large())
                           : fmt::format("hugepagesz=2M hugepages={}", step.small());
}

}  // namespace tfabric::setup
