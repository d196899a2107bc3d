#include "tools/check/vfio_check.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <string_view>
#include <vector>

namespace tfabric::check {
namespace {

constexpr const char* kContainer = "/dev/vfio/vfio";  // of IOMMU groups, not of processes

void check_device_file(const Host& host, const std::string& subject, const std::string& file,
                       Findings& findings) {
  if (!host.exists(file)) {
    findings.error(Id::vfio_device_missing, subject, fmt::format("{} is not there", file),
                   fmt::format("give it to the container (--device {0} --device {1}); on the host: ls -l "
                               "/dev/vfio, and bind the NIC again",
                               kContainer, file));
  } else if (!host.access(file, R_OK | W_OK)) {
    findings.error(
        Id::vfio_device_denied, subject, fmt::format("this user (uid {}) may not open {}", host.user(), file),
        fmt::format(
            "`tfabric setup --group GROUP` with a group of the user's, or by hand, as root: chgrp GROUP "
            "{0} && chmod g+rw {0}; a container: --device {0}",
            file));
  }
}

// Bridges' own driver, and what was set aside, do not stand in VFIO's way.
bool is_harmless(std::string_view driver) {
  constexpr std::array<std::string_view, 4> kDrivers{"", "vfio-pci", "pcieport", "pci-stub"};
  return std::find(kDrivers.begin(), kDrivers.end(), driver) != kDrivers.end();
}

void check_group(const Host& host, const std::string& subject, const host::PciFunction& function,
                 Findings& findings) {
  const host::Sysfs sysfs = host.sysfs();
  std::vector<std::string> others;
  for (const std::string& other :
       sysfs.list(fmt::format("kernel/iommu_groups/{}/devices", *function.iommu_group))) {
    const std::string driver =
        host::base_name(sysfs.resolve(fmt::format("bus/pci/devices/{}/driver", other)));
    if (other != function.address && !is_harmless(driver)) {
      others.push_back(fmt::format("{} ({})", other, driver));
    }
  }
  if (!others.empty()) {
    findings.error(
        Id::iommu_group_shared, subject,
        fmt::format("{} is in IOMMU group {} together with what the kernel's drivers have: {}; VFIO "
                    "gives away whole groups only",
                    function.address, *function.iommu_group, fmt::join(others, ", ")),
        "bind those to vfio-pci too (`tfabric setup`), or put the NIC into a slot with a group of "
        "its own");
  }
}

bool is_with_uio(const Host& host, const std::string& address) {
  const auto function = host::pci_function(host.sysfs(), address);
  return function && host::has_uio_driver(*function);
}

}  // namespace

void check_vfio_modules(const Host& host, const config::Tcp& config, Findings& findings) {
  const bool wanted = std::any_of(config.rails.begin(), config.rails.end(), [&](const auto& rail) {
    return rail.kind == config::RailKind::pci && !is_with_uio(host, rail.device);
  });
  if (wanted && !host.exists("/sys/bus/pci/drivers/vfio-pci")) {
    findings.error(Id::vfio_not_loaded, "vfio-pci", "the kernel's module vfio-pci is not loaded",
                   "as root: modprobe vfio-pci, and for the next start: echo vfio-pci > "
                   "/etc/modules-load.d/vfio-pci.conf");
  }
}

void check_vfio_device(const Host& host, const std::string& subject, const host::PciFunction& function,
                       Findings& findings) {
  check_device_file(host, subject, kContainer, findings);
  if (function.iommu_group) {
    check_device_file(host, subject, host::vfio_file(function), findings);
    check_group(host, subject, function, findings);
  }
}

}  // namespace tfabric::check
