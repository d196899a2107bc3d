// Rails of the kind `pci`: whether DPDK may take the NIC, and whether this process may open it by VFIO.
#include <fmt/format.h>
#include <linux/capability.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "host/dpdk_nics.h"
#include "host/pci.h"
#include "transport/diagnosis/way_in.h"
#include "transport/rails/diagnosis/examine.h"

namespace tfabric::rails {
namespace {

using diagnosis::Id;

constexpr std::string_view kVfio = "vfio-pci";
// VFIO's container of IOMMU groups, which has nothing to do with containers of processes.
constexpr const char* kContainer = "/dev/vfio/vfio";

void check_device_file(const diagnosis::Host& host, const std::string& subject, const std::string& file,
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

// Returns true if VFIO gives a group away although one of its devices has this driver.
bool is_harmless(std::string_view driver) {
  constexpr std::array<std::string_view, 4> kDrivers{"", kVfio, "pcieport", "pci-stub"};
  return std::find(kDrivers.begin(), kDrivers.end(), driver) != kDrivers.end();
}

void check_group(const diagnosis::Host& host, const std::string& subject, const host::PciFunction& function,
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
        "`tfabric setup` takes those NICs of the group that can be spared; another device, such as a disk "
        "or the NIC by which this host is reached, must stay: put the rail's NIC into a slot with a group "
        "of its own, or take another NIC");
  }
}

bool is_with_uio(const diagnosis::Host& host, const std::string& address) {
  const auto function = host::pci_function(host.sysfs(), address);
  return function && host::has_uio_driver(*function);
}

void check_vfio_device(const diagnosis::Host& host, const std::string& subject,
                       const host::PciFunction& function, Findings& findings) {
  check_device_file(host, subject, kContainer, findings);
  if (function.iommu_group) {
    check_device_file(host, subject, host::vfio_file(function), findings);
    check_group(host, subject, function, findings);
  }
}

// Returns the line of a shell that binds a function to vfio-pci, whichever driver has it now.
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

// Returns how to give a function to vfio-pci, unless this host is reached by it.
std::string taking(const diagnosis::Host& host, const host::PciFunction& function) {
  for (const std::string& interface : function.interfaces) {
    if (const std::string way = diagnosis::way_in_by(host, interface); !way.empty()) {
      return fmt::format("name another NIC as the rail's device: {} must stay with the kernel, because {}",
                         function.address, way);
    }
  }
  return binding(function.address) +
         (function.interfaces.empty() ? "" : "; the interface is gone then: do not take one that you need");
}

void report_kernel_driver(const diagnosis::Host& host, const std::string& subject,
                          const host::PciFunction& function, Findings& findings) {
  const std::string interfaces =
      function.interfaces.empty()
          ? ""
          : fmt::format(", as the interface {}", fmt::join(function.interfaces, ", "));
  findings.error(
      Id::pci_kernel_driver, subject,
      fmt::format("{} belongs to the kernel's driver {}{}", function.address, function.driver, interfaces),
      taking(host, function));
}

void check_without_iommu(const diagnosis::Host& host, const std::string& subject,
                         const host::PciFunction& function, Findings& findings) {
  findings.warning(
      Id::pci_no_iommu, subject,
      fmt::format(
          "{} has {} without an IOMMU: a process that uses it can reach all memory of this host, and what is "
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

void check_driver(const diagnosis::Host& host, const std::string& subject, const host::PciFunction& function,
                  Findings& findings) {
  if (function.driver.empty()) {
    findings.error(Id::pci_no_driver, subject, fmt::format("no driver has {}", function.address),
                   binding(function.address));
  } else if (host::goes_without_iommu(function)) {
    check_without_iommu(host, subject, function, findings);
  } else if (function.driver != kVfio) {
    report_kernel_driver(host, subject, function, findings);
  } else {
    check_vfio_device(host, subject, function, findings);
  }
}

// ENA takes descriptors and headers by writes into its own memory (LLQ). UIO's drivers let DPDK map it with
// write combining; vfio-pci chooses the mapping itself.
void check_write_combining(const std::string& subject, const host::PciFunction& function,
                           Findings& findings) {
  if (function.driver == kVfio && host::dpdk_driver_of(function) == "net_ena") {
    findings.note(
        Id::ena_uncached, subject,
        fmt::format(
            "{} is an ENA: what is sent is written into the NIC's memory, and Linux's vfio-pci maps that "
            "without write combining unless it has Amazon's patch, which cannot be seen from here",
            function.address),
        "a vfio-pci with that patch, if packets a second are what limits the job (docs/nics.md)");
  }
}

}  // namespace

void check_vfio_modules(const diagnosis::Host& host, const config::Tcp& config, Findings& findings) {
  const bool wanted = std::any_of(config.rails.begin(), config.rails.end(), [&](const auto& rail) {
    return config::is_nic(rail) && !is_with_uio(host, rail.device);
  });
  if (wanted && !host.exists("/sys/bus/pci/drivers/vfio-pci")) {
    findings.error(Id::vfio_not_loaded, "vfio-pci", "the kernel's module vfio-pci is not loaded",
                   "as root: modprobe vfio-pci, and for the next start: echo vfio-pci > "
                   "/etc/modules-load.d/vfio-pci.conf");
  }
}

void check_pci_rail(const diagnosis::Host& host, const config::Config& /*config*/, const config::Rail& rail,
                    Findings& findings) {
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
  // The advice of check_driver() would take a device that is no NIC, such as a disk, away from its driver.
  if (std::none_of(nics.begin(), nics.end(), [&](const auto& nic) { return nic.address == rail.device; })) {
    findings.error(Id::pci_not_a_nic, subject,
                   fmt::format("{} is no Ethernet NIC: {}", rail.device, names_of(nics)),
                   "name one of them as the rail's device (`lspci -D` lists all)");
    return;
  }
  // Nor would binding help a NIC that DPDK cannot drive.
  if (host::dpdk_driver_of(*function).empty()) {
    findings.error(
        Id::pci_not_supported, subject,
        fmt::format("no driver of this build takes {}, a NIC {:04x}:{:04x}", rail.device, function->vendor,
                    function->device),
        "leave it to the kernel, and use its interface by a rail of kind af_xdp or kernel; if it can RDMA, "
        "transport = \"rdma\"");
    return;
  }
  check_driver(host, subject, *function, findings);
  check_write_combining(subject, *function, findings);
  if (rail.numa_node >= 0 && function->numa_node >= 0 && rail.numa_node != function->numa_node) {
    findings.note(Id::numa_node_differs, subject,
                  fmt::format("numa_node is {}, and {} is at node {}", rail.numa_node, function->address,
                              function->numa_node),
                  fmt::format("numa_node = {}", function->numa_node));
  }
}

}  // namespace tfabric::rails
