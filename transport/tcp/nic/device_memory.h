// Maps registered memory for NICs that read packets by DMA, so that payload goes to them by reference.
//
// The IOMMU maps memory at the process's own addresses (IOVA mode "va"). It need not support unmapping a part
// of a mapping, so a range stays mapped until none of it is registered. A range that a device refuses,
// because it has no IOMMU or no room in it, is unmapped for all devices, and payload in it is copied.
//
// map(), unmap() and reachable() are called under RegionTable's lock; devices are added before.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <vector>

#include "hugepage/registration.h"

namespace tfabric::nic {

// One IOMMU context.
class DmaDevice {
 public:
  virtual ~DmaDevice() = default;
  virtual Status map(std::uintptr_t address, std::size_t size) = 0;
  virtual void unmap(std::uintptr_t address, std::size_t size) = 0;
};

class DeviceMemory final : public hugepage::DmaMapper {
 public:
  void add(std::unique_ptr<DmaDevice> device) { devices_.push_back(std::move(device)); }

  // Always succeeds; the first refusal is logged.
  Status map(std::uintptr_t address, std::size_t size) override;
  void unmap(std::uintptr_t address, std::size_t size) override;
  // Returns true if every byte is mapped for every device.
  [[nodiscard]] bool reachable(std::uintptr_t address, std::size_t size) const override;

 private:
  // A mapping; its address is the key.
  struct Mapping {
    std::size_t size = 0;
    std::size_t used = 0;  // bytes that are registered
  };
  using Mappings = std::map<std::uintptr_t, Mapping>;

  // Calls `what(mapping, bytes of it within the range)`, and `gap(begin, end)` for what no mapping covers.
  template <class What, class Gap>
  void walk(std::uintptr_t begin, std::uintptr_t end, const What& what, const Gap& gap);
  bool map_for_all(std::uintptr_t address, std::size_t size);
  void unmap_for_all(std::uintptr_t address, std::size_t size);

  std::vector<std::unique_ptr<DmaDevice>> devices_;
  Mappings mappings_;
  bool refused_ = false;
};

// The IOMMU context of the NICs that DPDK drives through VFIO.
[[nodiscard]] std::unique_ptr<DmaDevice> vfio_container();

}  // namespace tfabric::nic
