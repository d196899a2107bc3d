#include "transport/tcp/rails/memory_limits.h"

#include <fmt/format.h>

#include "host/limits.h"

namespace tfabric::tcp {
namespace {

constexpr std::uint64_t kMib = std::uint64_t{1} << 20;

}  // namespace

AllowedPages allowed_pages(const std::string& root) {
  AllowedPages allowed{.pages = hugepage::discover_pages(root), .limits = {}};
  for (hugepage::PageSize& size : allowed.pages.sizes) {
    const auto limit = host::hugetlb_limit(root, size.bytes);
    if (limit && limit->bytes / size.bytes < size.free) {
      size.free = limit->bytes / size.bytes;
      allowed.limits += (allowed.limits.empty() ? "" : ", ") + limit->file;
    }
  }
  return allowed;
}

Status check_ordinary_memory(std::uint32_t need_mib, const std::string& root) {
  const auto limit = host::memory_limit(root);
  if (!limit || limit->bytes >= need_mib * kMib) {
    return {};
  }
  return Error{
      Errc::unusable,
      fmt::format("the control group allows {} MiB of memory ({}), and tfabric alone takes up to {} MiB: the "
                  "kernel would kill the process",
                  limit->bytes / kMib, limit->file, need_mib)};
}

}  // namespace tfabric::tcp
