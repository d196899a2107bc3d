#include "transport/rails/memory_need.h"

#include <fmt/format.h>

#include <algorithm>

#include "host/limits.h"
#include "host/pci.h"
#include "transport/rails/queue_subset.h"
#include "transport/rails/rail_kinds.h"
#include "transport/tcp/nic/pools.h"

namespace tfabric::rails {
namespace {

constexpr std::uint64_t kPage = 4096;
constexpr std::uint64_t kMib = std::uint64_t{1} << 20;
// Bytes of packet buffers that a receive pool may hold, and how many buffers at least and at most.
constexpr std::uint32_t kPoolBytes = 64u << 20;
constexpr std::uint32_t kMinBuffers = 2048;
constexpr std::uint32_t kMaxBuffers = 16384;

// Bytes of a rail's receive pool. In ordinary memory DPDK lets no buffer cross a page that could hold it, and
// rounds larger ones up to whole pages.
std::uint64_t pool_bytes(const config::Rail& rail, bool hugepages) {
  constexpr std::uint64_t kOverhead = 512;
  const std::uint32_t mtu = buffer_mtu(rail);
  std::uint64_t buffer = std::max(mtu, 2048u) + kOverhead;
  if (!hugepages || !config::is_nic(rail)) {
    constexpr std::uint64_t kHeaders = 320;  // the pool's, the packet's, and headroom
    buffer = std::max(buffer, nic::receive_bytes(mtu) + kHeaders);
    buffer = buffer > kPage ? (buffer + kPage - 1) / kPage * kPage : kPage / (kPage / buffer);
  }
  return receive_buffers(mtu) * buffer;
}

hugepage::Mode hugepage_mode(config::HugepageMode mode) {
  switch (mode) {
    case config::HugepageMode::required:
      return hugepage::Mode::required;
    case config::HugepageMode::off:
      return hugepage::Mode::off;
    case config::HugepageMode::automatic:
      break;
  }
  return hugepage::Mode::automatic;
}

std::uint32_t need_mib(const config::Tcp& config, bool hugepages) {
  constexpr std::uint64_t kSharedPools = 40 * kMib;
  // Of an engine and rail: an automatic memif rail has a wire for each engine of each peer.
  const std::uint64_t queues = 4 * kMib * config.engines;
  std::uint64_t bytes = kSharedPools;
  for (const config::Rail& rail : config.rails) {
    if (config::is_kernel_stack(rail)) {
      continue;
    }
    bytes += pool_bytes(rail, hugepages) + queues;
    if (config::has_queue_subset(rail)) {
      bytes += pool_bytes(local_rail_of(rail), hugepages) + queues;
    }
  }
  return static_cast<std::uint32_t>(bytes * config.engines >> 20) + 1;
}

}  // namespace

std::uint32_t receive_buffers(std::uint32_t mtu) {
  return std::clamp(kPoolBytes / (mtu + 256), kMinBuffers, kMaxBuffers);
}

hugepage::Need memory_need_mib(const config::Tcp& config) {
  return {need_mib(config, /*hugepages=*/true), need_mib(config, /*hugepages=*/false)};
}

std::uint32_t af_xdp_locked_mib(const config::Tcp& config) {
  std::uint64_t bytes = 0;
  for (const config::Rail& rail : config.rails) {
    if (traits_of(rail.kind).locks_buffers) {
      bytes += receive_buffers(effective_mtu(rail)) * kPage * config.engines * config.engines;
    }
  }
  return static_cast<std::uint32_t>(bytes >> 20);
}

bool has_nic(const config::Tcp& config) {
  return std::any_of(config.rails.begin(), config.rails.end(), config::is_nic);
}

bool takes_physical_addresses(const config::Tcp& config, const host::Sysfs& sysfs) {
  return std::any_of(config.rails.begin(), config.rails.end(), [&](const config::Rail& rail) {
    const auto function = config::is_nic(rail) ? host::pci_function(sysfs, rail.device) : std::nullopt;
    return function && host::goes_without_iommu(*function);
  });
}

hugepage::Mode page_mode(const config::Config& config, bool physical_addresses) {
  if (physical_addresses) {
    return hugepage::Mode::physical;
  }
  const hugepage::Mode mode = hugepage_mode(config.memory.hugepages);
  return mode == hugepage::Mode::automatic && !has_nic(config.tcp) ? hugepage::Mode::off : mode;
}

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

}  // namespace tfabric::rails
