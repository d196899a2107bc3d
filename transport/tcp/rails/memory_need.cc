#include "transport/tcp/rails/memory_need.h"

#include <algorithm>

#include "host/pci.h"
#include "transport/tcp/nic/device_arguments.h"
#include "transport/tcp/rails/rail.h"

namespace tfabric::tcp {
namespace {

constexpr std::uint64_t kPage = 4096;

// Bytes of a rail's receive pool. In ordinary memory DPDK lets no buffer lie across two pages that can lie on
// one, and reckons with whole pages for larger ones.
std::uint64_t pool_bytes(const config::Rail& rail, bool hugepages) {
  constexpr std::uint64_t kOverhead = 512;
  const std::uint32_t mtu = effective_mtu(rail);
  std::uint64_t buffer = std::max(mtu, 2048u) + kOverhead;
  if (!hugepages || rail.kind != config::RailKind::pci) {
    constexpr std::uint64_t kHeaders = 320;  // the pool's, the packet's, and headroom
    buffer = std::max(buffer, nic::af_packet_frame_bytes(mtu) + kHeaders);
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
  constexpr std::uint64_t kSharedPools = 40u << 20;
  // Of an engine and rail; automatic memif rails have a wire for each engine of each peer.
  const std::uint64_t queues = std::uint64_t{4u << 20} * config.engines;
  std::uint64_t bytes = kSharedPools;
  for (const config::Rail& rail : config.rails) {
    bytes += pool_bytes(rail, hugepages) + queues;
    if (config::has_queue_subset(rail)) {
      bytes += pool_bytes({.kind = config::RailKind::memif}, hugepages) + queues;  // to this host's processes
    }
  }
  return static_cast<std::uint32_t>(bytes * config.engines >> 20) + 1;
}

}  // namespace

hugepage::Need memory_need_mib(const config::Tcp& config) {
  return {need_mib(config, /*hugepages=*/true), need_mib(config, /*hugepages=*/false)};
}

std::uint32_t af_xdp_locked_mib(const config::Tcp& config) {
  std::uint64_t bytes = 0;
  for (const config::Rail& rail : config.rails) {
    if (rail.kind == config::RailKind::af_xdp) {
      bytes += receive_buffers(effective_mtu(rail)) * kPage * config.engines * config.engines;
    }
  }
  return static_cast<std::uint32_t>(bytes >> 20);
}

bool has_nic(const config::Tcp& config) {
  return std::any_of(config.rails.begin(), config.rails.end(),
                     [](const auto& rail) { return rail.kind == config::RailKind::pci; });
}

bool takes_physical_addresses(const config::Tcp& config, const host::Sysfs& sysfs) {
  return std::any_of(config.rails.begin(), config.rails.end(), [&](const config::Rail& rail) {
    const auto function =
        rail.kind == config::RailKind::pci ? host::pci_function(sysfs, rail.device) : std::nullopt;
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

}  // namespace tfabric::tcp
