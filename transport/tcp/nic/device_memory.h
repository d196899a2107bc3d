// Registered memory made reachable for NICs that read packets by DMA, so that payload goes to them by
// reference.
//
// What the NICs' IOMMU maps has the process's own addresses (IOVA mode "va"). Mappings go as they came: an
// IOMMU need not be able to take away a part of one, so a range stays mapped until nothing of it is used. A
// range that some device refuses, for want of an IOMMU or of room in it, is reachable for none, and is
// copied.
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

  // Always succeeds: a refusal is said once, in the log.
  Status map(std::uintptr_t address, std::size_t size) override;
  void unmap(std::uintptr_t address, std::size_t size) override;
  // Every byte is mapped for every device.
  [[nodiscard]] bool reachable(std::uintptr_t address, std::size_t size) const override;

 private:
  // A mapping, from its key on.
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

// That of the NICs that DPDK drives through VFIO.
[[nodiscard]] std::unique_ptr<DmaDevice> vfio_container();

}  // namespace tfabric::nic
