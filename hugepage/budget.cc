#include "hugepage/budget.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <fstream>
#include <string_view>

namespace tfabric::hugepage {
namespace {

namespace fs = std::filesystem;

std::uint64_t read_number(const fs::path& path) {
  std::ifstream file(path);
  std::uint64_t value = 0;
  return file >> value ? value : 0;
}

// Returns the number after `prefix` in a name like "hugepages-2048kB" or "node1"; 0 if there is none.
std::uint64_t number_in(std::string_view name, std::string_view prefix) {
  std::uint64_t value = 0;
  if (name.starts_with(prefix)) {
    std::from_chars(name.data() + prefix.size(), name.data() + name.size(), value);
  }
  return value;
}

std::vector<PageSize> sizes_in(const fs::path& folder) {
  std::vector<PageSize> sizes;
  std::error_code ignored;
  for (const auto& entry : fs::directory_iterator(folder, ignored)) {
    const std::uint64_t kib = number_in(entry.path().filename().string(), "hugepages-");
    if (kib > 0) {
      sizes.push_back({.bytes = kib * 1024,
                       .total = read_number(entry.path() / "nr_hugepages"),
                       .free = read_number(entry.path() / "free_hugepages")});
    }
  }
  std::sort(sizes.begin(), sizes.end(), [](const auto& a, const auto& b) { return a.bytes > b.bytes; });
  return sizes;
}

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

std::uint64_t Pages::free_bytes() const {
  std::uint64_t sum = 0;
  for (const PageSize& size : sizes) {
    sum += size.bytes * size.free;
  }
  return sum;
}

Pages discover_pages(const std::string& root) {
  Pages pages;
  pages.sizes = sizes_in(root + "/sys/kernel/mm/hugepages");
  std::error_code ignored;
  for (const auto& entry : fs::directory_iterator(root + "/sys/devices/system/node", ignored)) {
    const std::string name = entry.path().filename().string();
    if (name.starts_with("node") && fs::exists(entry.path() / "hugepages", ignored)) {
      pages.nodes.push_back(
          {static_cast<int>(number_in(name, "node")), sizes_in(entry.path() / "hugepages")});
    }
  }
  std::sort(pages.nodes.begin(), pages.nodes.end(),
            [](const auto& a, const auto& b) { return a.node < b.node; });
  return pages;
}

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
