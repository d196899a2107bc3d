#include "tools/setup/module_step.h"

#include <fmt/format.h>

namespace tfabric::setup {
namespace {

const std::string kNoIommu = "/sys/module/vfio/parameters/enable_unsafe_noiommu_mode";
// VFIO's way to an IOMMU; DPDK opens none without.
const std::string kIommuType = "/sys/module/vfio_iommu_type1";

bool has_driver(const Host& host, const std::string& driver) {
  return host.exists("/sys/bus/pci/drivers/" + driver);
}

bool no_iommu_allowed(const Host& host) { return host.read(kNoIommu).value_or("N").starts_with('Y'); }

}  // namespace

std::string ModuleStep::describe() const {
  return fmt::format("load the kernel's driver {}{}", driver_,
                     no_iommu_ ? " and switch on its unsafe mode without an IOMMU" : "");
}

Json ModuleStep::wanted() const { return {{"kind", kKind}, {"driver", driver_}, {"no_iommu", no_iommu_}}; }

bool ModuleStep::done(const Host& host) const {
  return has_driver(host, driver_) && (driver_ != kVfio || host.exists(kIommuType) || no_iommu_) &&
         (!no_iommu_ || no_iommu_allowed(host));
}

Result<Json> ModuleStep::state_before(Host& host) const {
  return Json{{"driver", has_driver(host, driver_)},
              {"iommu_type", host.exists(kIommuType)},
              {"no_iommu", no_iommu_allowed(host)}};
}

Status ModuleStep::apply(Host& host, const Json& /*before*/) const {
  if (driver_ == kVfio && !no_iommu_) {
    if (Status status = run_or_fail(host, {"modprobe", "vfio_iommu_type1"}); !status) {
      return status;
    }
  }
  if (Status status = run_or_fail(host, {"modprobe", driver_}); !status) {
    return status;
  }
  if (!no_iommu_ || no_iommu_allowed(host)) {
    return {};
  }
  return host.write_attribute(kNoIommu, "Y");
}

Status ModuleStep::undo(Host& host, const Json& before) const {
  if (no_iommu_ && !flag_of(before, "no_iommu") && no_iommu_allowed(host)) {
    if (Status status = host.write_attribute(kNoIommu, "N"); !status) {
      return status;
    }
  }
  // Someone else may use them by now; then they stay, which changes nothing.
  if (!flag_of(before, "driver") && has_driver(host, driver_)) {
    static_cast<void>(host.run({"modprobe", "-r", driver_}));
  }
  if (!flag_of(before, "iommu_type") && host.exists(kIommuType)) {
    static_cast<void>(host.run({"modprobe", "-r", "vfio_iommu_type1"}));
  }
  return {};
}

}  // namespace tfabric::setup
