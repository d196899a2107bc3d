#include "tools/check/pci_check.h"

#include <fmt/format.h>
#include <linux/capability.h>
#include <unistd.h>

#include <algorithm>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "host/pci.h"
#include "tools/check/vfio_check.h"

namespace tfabric::check {
namespace {

constexpr std::string_view kVfio = "vfio-pci";

// One line that binds a function to vfio-pci, whatever has it now.
std::string binding(const std::string& address) {
  return fmt::format(
      "`tfabric setup`, or by hand, as root: modprobe vfio-pci; D=/sys/bus/pci/devices/{0}; echo vfio-pci > "
      "$D/driver_override; [ ! -e $D/driver ] || echo {0} > $D/driver/unbind; echo {0} > "
      "/sys/bus/pci/drivers_probe",
      address);
}

std::string names_of(const std::vector<host::PciFunction>& functions) {
  std::vector<std::string> names;
  for (const host::PciFunction& function : functions) {
    names.push_back(function.interfaces.empty()
                        ? function.address
                        : fmt::format("{} ({})", function.address, fmt::join(function.interfaces, ", ")));
  }
  return names.empty() ? "it shows no PCI NIC at all"
                       : fmt::format("its PCI NICs are {}", fmt::join(names, ", "));
}

void report_kernel_driver(const std::string& subject, const host::PciFunction& function, Findings& findings) {
  const std::string interfaces =
      function.interfaces.empty()
          ? ""
          : fmt::format(", as the interface {}", fmt::join(function.interfaces, ", "));
  findings.error(
      Id::pci_kernel_driver, subject,
      fmt::format("{} belongs to the kernel's driver {}{}", function.address, function.driver, interfaces),
      binding(function.address) +
          (function.interfaces.empty() ? "" : "; the interface is gone then: do not take one that you need"));
}

void check_without_iommu(const Host& host, const std::string& subject, const host::PciFunction& function,
                         Findings& findings) {
  findings.warning(
      Id::pci_no_iommu, subject,
      fmt::format(
          "{} has {} without an IOMMU: whoever uses it can reach all memory of this host, and what is "
          "sent is copied first",
          function.driver, function.address),
      host::has_uio_driver(function) && function.iommu_group
          ? binding(function.address)
          : "switch the IOMMU on, in the firmware (VT-d, AMD-Vi) and by intel_iommu=on iommu=pt on the "
            "kernel's command line, or take a type of virtual machine that has one; then `tfabric setup`");
  for (const auto& [capability, name] :
       {std::pair(CAP_SYS_ADMIN, "SYS_ADMIN"), std::pair(CAP_SYS_RAWIO, "SYS_RAWIO")}) {
    if (!host.has_capability(capability)) {
      findings.error(
          Id::capability_missing, subject,
          fmt::format("this process lacks CAP_{}, which {} needs without an IOMMU", name, function.address),
          fmt::format("run the job as root, or a container with --cap-add {}; or switch the IOMMU on", name));
    }
  }
  if (function.driver == kVfio) {
    check_vfio_device(host, subject, function, findings);
  }
}

void check_driver(const Host& host, const std::string& subject, const host::PciFunction& function,
                  Findings& findings) {
  if (function.driver.empty()) {
    findings.error(Id::pci_no_driver, subject, fmt::format("no driver has {}", function.address),
                   binding(function.address));
  } else if (host::goes_without_iommu(function)) {
    check_without_iommu(host, subject, function, findings);
  } else if (function.driver != kVfio) {
    report_kernel_driver(subject, function, findings);
  } else {
    check_vfio_device(host, subject, function, findings);
  }
}

}  // namespace

void check_pci_rail(const Host& host, const config::Rail& rail, Findings& findings) {
  const std::string subject = "rail " + rail.name;
  const auto nics = host::ethernet_functions(host.sysfs());
  const auto function = host::pci_function(host.sysfs(), rail.device);
  if (!function) {
    findings.error(
        Id::pci_no_such_function, subject,
        fmt::format("this host has no PCI function {}: {}", rail.device, names_of(nics)),
        "name one of them as the rail's device (`lspci -D` lists all); a container sees the host's "
        "if its /sys is the host's");
    return;
  }
  // Its driver is not to be taken away from it by our advice.
  if (std::none_of(nics.begin(), nics.end(), [&](const auto& nic) { return nic.address == rail.device; })) {
    findings.error(Id::pci_not_a_nic, subject,
                   fmt::format("{} is no Ethernet NIC: {}", rail.device, names_of(nics)),
                   "name one of them as the rail's device (`lspci -D` lists all)");
    return;
  }
  check_driver(host, subject, *function, findings);
  if (rail.numa_node >= 0 && function->numa_node >= 0 && rail.numa_node != function->numa_node) {
    findings.note(Id::numa_node_differs, subject,
                  fmt::format("numa_node is {}, and {} is at node {}", rail.numa_node, function->address,
                              function->numa_node),
                  fmt::format("numa_node = {}", function->numa_node));
  }
}

}  // namespace tfabric::check
