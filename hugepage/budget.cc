#include "hugepage/budget.h"

#include <fmt/format.h>

#include <algorithm>

namespace tfabric::hugepage {
namespace {

constexpr std::uint64_t kMib = std::uint64_t{1} << 20;

std::string describe(const Pages& pages) {
  std::string text;
  for (const PageSize& size : pages.sizes) {
    text += fmt::format("{}{} of {} pages of {} MiB free", text.empty() ? "" : ", ", size.free, size.total,
                        size.bytes / kMib);
  }
  return text.empty() ? "the kernel offers none" : text;
}

std::uint64_t largest_free_bytes(const Pages& pages) {
  std::uint64_t bytes = kMib;
  for (const PageSize& size : pages.sizes) {
    bytes = size.free > 0 ? std::max(bytes, size.bytes) : bytes;
  }
  return bytes;
}

}  // namespace

Result<Budget> choose_budget(Mode mode, const Need& need, std::uint32_t limit_mib, const Pages& pages) {
  const bool enough = pages.free_bytes() >= need.hugepages * kMib;
  const bool insists = mode == Mode::required || mode == Mode::physical;
  const bool hugepages = insists || (mode == Mode::automatic && enough);
  const std::uint32_t need_mib = hugepages ? need.hugepages : need.ordinary;
  if (limit_mib != 0 && limit_mib < need_mib) {
    return Error{
        Errc::unusable,
        fmt::format("memory.budget_mib is {}, and the configured rails need {} MiB: raise it, or use "
                    "fewer rails or a smaller mtu",
                    limit_mib, need_mib)};
  }
  if (insists && !enough) {
    return Error{
        Errc::unusable,
        fmt::format("{} and {} MiB are needed ({}): reserve them with `echo {} > "
                    "/sys/kernel/mm/hugepages/hugepages-2048kB/nr_hugepages`, or {}",
                    mode == Mode::physical ? "a NIC without an IOMMU reads nothing but hugepages"
                                           : "memory.hugepages is \"required\"",
                    need_mib, describe(pages), (need_mib + 1) / 2,
                    mode == Mode::physical ? "switch the IOMMU on" : "set memory.hugepages to \"auto\"")};
  }
  Budget budget{.hugepages = hugepages, .mib = need_mib, .explanation = {}};
  if (budget.hugepages) {
    const auto page_mib = static_cast<std::uint32_t>(largest_free_bytes(pages) / kMib);
    budget.mib = (need_mib + page_mib - 1) / page_mib * page_mib;
  }
  budget.explanation =
      budget.hugepages
          ? fmt::format("up to {} MiB of hugepages ({})", need_mib, describe(pages))
          : fmt::format("up to {} MiB of ordinary memory ({})", need_mib,
                        mode == Mode::off ? "no NIC needs hugepages, or memory.hugepages is \"off\""
                                          : describe(pages));
  return budget;
}

}  // namespace tfabric::hugepage
