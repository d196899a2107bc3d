// The kernel's driver through which DPDK has NICs.
#pragma once

#include "tools/setup/step.h"

namespace tfabric::setup {

// With an IOMMU, or without one in VFIO's own unsafe mode.
inline constexpr auto kVfio = "vfio-pci";
// For kernels without VFIO.
inline constexpr auto kUio = "uio_pci_generic";

class ModuleStep final : public Step {
 public:
  static constexpr auto kKind = "modules";

  ModuleStep(std::string driver, bool no_iommu) : driver_(std::move(driver)), no_iommu_(no_iommu) {}
  explicit ModuleStep(const Json& wanted)
      : ModuleStep(text_of(wanted, "driver"), flag_of(wanted, "no_iommu")) {}

  [[nodiscard]] std::string id() const override { return kKind; }
  [[nodiscard]] std::string describe() const override;
  [[nodiscard]] Json wanted() const override;
  [[nodiscard]] bool done(const Host& host) const override;
  Result<Json> state_before(Host& host) const override;
  Status apply(Host& host, const Json& before) const override;
  Status undo(Host& host, const Json& before) const override;
  [[nodiscard]] bool again_at_boot() const override { return true; }

 private:
  std::string driver_;
  bool no_iommu_;
};

}  // namespace tfabric::setup
