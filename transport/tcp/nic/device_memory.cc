#include "transport/tcp/nic/device_memory.h"

#include <rte_errno.h>
#include <rte_vfio.h>

#include <algorithm>

#include "base/log.h"

namespace tfabric::nic {
namespace {

// DPDK keeps all NICs of the process in one VFIO container.
class VfioContainer final : public DmaDevice {
 public:
  Status map(std::uintptr_t address, std::size_t size) override {
    if (rte_vfio_container_dma_map(RTE_VFIO_DEFAULT_CONTAINER_FD, address, address, size) == 0) {
      return {};
    }
    return Error{Errc::unusable, rte_strerror(rte_errno)};
  }
  void unmap(std::uintptr_t address, std::size_t size) override {
    if (rte_vfio_container_dma_unmap(RTE_VFIO_DEFAULT_CONTAINER_FD, address, address, size) != 0) {
      TF_WARN("NET/tfabric: {} bytes at {:#x} stay mapped for the NICs: {}", size, address,
              rte_strerror(rte_errno));
    }
  }
};

}  // namespace

std::unique_ptr<DmaDevice> vfio_container() { return std::make_unique<VfioContainer>(); }

template <class What, class Gap>
void DeviceMemory::walk(std::uintptr_t begin, std::uintptr_t end, const What& what, const Gap& gap) {
  auto next = mappings_.upper_bound(begin);
  if (next != mappings_.begin() && std::prev(next)->first + std::prev(next)->second.size > begin) {
    --next;
  }
  std::uintptr_t at = begin;
  while (at < end) {
    const bool mapped = next != mappings_.end() && next->first <= at;
    const std::uintptr_t stop = mapped                    ? std::min(end, next->first + next->second.size)
                                : next == mappings_.end() ? end
                                                          : std::min(end, next->first);
    if (mapped) {
      what((next++)->first, stop - at);
    } else {
      gap(at, stop);
    }
    at = stop;
  }
}

Status DeviceMemory::map(std::uintptr_t address, std::size_t size) {
  if (devices_.empty()) {
    return {};
  }
  std::vector<std::pair<std::uintptr_t, std::size_t>> gaps;
  walk(
      address, address + size,
      [&](std::uintptr_t mapping, std::size_t bytes) { mappings_[mapping].used += bytes; },
      [&](std::uintptr_t begin, std::uintptr_t end) { gaps.emplace_back(begin, end - begin); });
  for (const auto& [begin, bytes] : gaps) {
    if (map_for_all(begin, bytes)) {
      mappings_[begin] = {.size = bytes, .used = bytes};
    }
  }
  return {};
}

bool DeviceMemory::map_for_all(std::uintptr_t address, std::size_t size) {
  for (std::size_t i = 0; i < devices_.size(); ++i) {
    const Status mapped = devices_[i]->map(address, size);
    if (mapped) {
      continue;
    }
    for (std::size_t done = 0; done < i; ++done) {
      devices_[done]->unmap(address, size);
    }
    if (!refused_) {
      refused_ = true;
      TF_INFO(
          "NET/tfabric: the NIC cannot reach registered memory itself ({}), so what is sent is copied first; "
          "an IOMMU and vfio-pci would let it",
          mapped.error().message);
    }
    return false;
  }
  return true;
}

void DeviceMemory::unmap_for_all(std::uintptr_t address, std::size_t size) {
  for (const auto& device : devices_) {
    device->unmap(address, size);
  }
}

void DeviceMemory::unmap(std::uintptr_t address, std::size_t size) {
  std::vector<std::uintptr_t> unused;
  walk(
      address, address + size,
      [&](std::uintptr_t begin, std::size_t bytes) {
        Mapping& mapping = mappings_[begin];
        mapping.used -= std::min(mapping.used, bytes);
        if (mapping.used == 0) {
          unused.push_back(begin);
        }
      },
      [](std::uintptr_t, std::uintptr_t) {});
  for (const std::uintptr_t begin : unused) {
    unmap_for_all(begin, mappings_[begin].size);
    mappings_.erase(begin);
  }
}

bool DeviceMemory::reachable(std::uintptr_t address, std::size_t size) const {
  if (devices_.empty()) {
    return false;
  }
  bool all = true;
  const_cast<DeviceMemory*>(this)->walk(
      address, address + size, [](std::uintptr_t, std::size_t) {},
      [&](std::uintptr_t, std::uintptr_t) { all = false; });
  return all;
}

}  // namespace tfabric::nic
