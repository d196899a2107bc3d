// Steps that hand NICs to user space: modules, bindings, access.
#include <fmt/format.h>

#include "host/pci.h"
#include "tools/setup/driver.h"
#include "tools/setup/network.h"
#include "tools/setup/steps.h"

namespace tfabric::setup {
namespace {

const std::string kNoIommu = "/sys/module/vfio/parameters/enable_unsafe_noiommu_mode";
// The part of VFIO that DPDK needs for an IOMMU.
const std::string kIommuType = "/sys/module/vfio_iommu_type1";

bool has_driver(const Host& host, const std::string& driver) {
  return host.exists("/sys/bus/pci/drivers/" + driver);
}

bool no_iommu_allowed(const Host& host) { return host.read(kNoIommu).value_or("N").starts_with('Y'); }

std::string mac_of(const Host& host, const std::string& interface) {
  return host.sysfs().read("class/net/" + interface + "/address").value_or("");
}

Result<host::PciFunction> find_function(const Host& host, const Eni& eni) {
  auto function = host::pci_function(host.sysfs(), eni.address);
  if (!function) {
    return Error{Errc::unusable, fmt::format("there is no NIC at {} any more; the recorded one had MAC {}",
                                             eni.address, eni.mac)};
  }
  return std::move(*function);
}

// Checks that it is the NIC that was recorded: PCI addresses may be assigned anew at each boot, and taking
// the wrong NIC could lock the administrator out.
Status check_identity(Host& host, const Eni& eni) {
  Result<host::PciFunction> function = find_function(host, eni);
  if (!function) {
    return function.error();
  }
  std::string interface = function->interfaces.empty() ? "" : function->interfaces.front();
  if (interface.empty()) {
    // Early at boot, its driver may not be loaded yet.
    static_cast<void>(host.run({"modprobe", eni.driver}));
    if (driver_of(host, eni.address).empty()) {
      static_cast<void>(host.write_attribute("/sys/bus/pci/drivers_probe", eni.address));
    }
    interface = await_interface(host, eni.address);
  }
  if (const std::string mac = mac_of(host, interface); interface.empty() || mac != eni.mac) {
    return Error{
        Errc::unusable,
        fmt::format(
            "the NIC at {} has {}, and the recorded one has {}: run `tfabric setup --undo`, and then setup "
            "again",
            eni.address, mac.empty() ? "no MAC that can be read" : "MAC " + mac, eni.mac)};
  }
  Result<Network> network = read_network(host);
  if (!network) {
    return network.error();
  }
  const auto reasons = protected_interfaces(*network, ssh_sessions(host));
  if (const auto reason = reasons.find(interface); reason != reasons.end()) {
    return Error{Errc::invalid_usage,
                 fmt::format("{} ({}) {}: it is left alone", eni.address, interface, reason->second)};
  }
  return {};
}

// Restores the name of the interface. udev usually has; without it the kernel's name may be another one.
std::string restore_name(Host& host, const std::string& now, const std::string& wanted) {
  if (now == wanted || wanted.empty() || host.exists("/sys/class/net/" + wanted)) {
    return now;
  }
  static_cast<void>(host.run({"ip", "link", "set", "dev", now, "down"}));
  return host.run({"ip", "link", "set", "dev", now, "name", wanted}).ok() ? wanted : now;
}

// Returns the NIC's VFIO file; empty if it has no IOMMU group.
std::string file_of(const Host& host, const std::string& address) {
  const auto function = host::pci_function(host.sysfs(), address);
  return function && function->iommu_group ? host::vfio_file(*function) : std::string();
}

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
  // A module that has other users by now stays loaded, which does no harm.
  if (!flag_of(before, "driver") && has_driver(host, driver_)) {
    static_cast<void>(host.run({"modprobe", "-r", driver_}));
  }
  if (!flag_of(before, "iommu_type") && host.exists(kIommuType)) {
    static_cast<void>(host.run({"modprobe", "-r", "vfio_iommu_type1"}));
  }
  return {};
}

bool BindStep::done(const Host& host) const {
  return driver_of(host, eni_.address) == driver_ && driver_override_of(host, eni_.address) == driver_;
}

Result<Json> BindStep::state_before(Host& host) const {
  Result<Network> network = read_network(host);
  if (!network) {
    return network.error();
  }
  return Json{{"driver", driver_of(host, eni_.address)},
              {"override", driver_override_of(host, eni_.address)},
              {"interface", record_interface(host, *network, eni_.name)}};
}

Status BindStep::apply(Host& host, const Json& /*before*/) const {
  const std::string now = driver_of(host, eni_.address);
  // An interrupted run has set the override after it checked the NIC, so no second check is needed. A reboot
  // clears the override, and the NIC is checked again.
  if (now != driver_ && driver_override_of(host, eni_.address) != driver_) {
    if (Status status = check_identity(host, eni_); !status) {
      return status;
    }
  }
  if (Status status = set_driver_override(host, eni_.address, driver_); !status) {
    return status;
  }
  if (driver_of(host, eni_.address) == driver_) {
    return {};
  }
  if (Status status = unbind(host, eni_.address); !status) {
    return status;
  }
  return bind_to(host, eni_.address, driver_);
}

Status BindStep::undo(Host& host, const Json& before) const {
  if (Result<host::PciFunction> function = find_function(host, eni_); !function) {
    return {};  // the NIC was removed from the host, and its configuration with it
  }
  const std::string driver = text_of(before, "driver");
  if (const std::string user = user_of(host, eni_.address);
      !user.empty() && driver_of(host, eni_.address) != driver) {
    return Error{Errc::invalid_usage,
                 fmt::format("process {} uses {} ({}): stop it first", user, eni_.address, eni_.name)};
  }
  if (Status status = set_driver_override(host, eni_.address, text_of(before, "override")); !status) {
    return status;
  }
  if (driver_of(host, eni_.address) != driver) {
    if (Status status = unbind(host, eni_.address); !status) {
      return status;
    }
    if (!host.exists("/sys/bus/pci/drivers/" + driver)) {
      if (Status status = run_or_fail(host, {"modprobe", driver}); !status) {
        return status;
      }
    }
    if (Status status = bind_to(host, eni_.address, driver); !status) {
      return status;
    }
  }
  if (await_interface(host, eni_.address).empty()) {
    return Error{Errc::system,
                 fmt::format("{} is bound to {} again, but no interface has appeared within ten seconds: the "
                             "kernel's log (dmesg) may say why",
                             eni_.address, driver)};
  }
  if (host.exists("/run/udev/control")) {
    static_cast<void>(host.run({"udevadm", "settle", "--timeout=10"}));
  }
  const std::string name = restore_name(host, await_interface(host, eni_.address), eni_.name);
  return restore_interface(host, part_of(before, "interface"), name);
}

std::string AccessStep::describe() const { return fmt::format("let the group {} use {}", group_, address_); }

bool AccessStep::done(const Host& host) const {
  const std::string file = file_of(host, address_);
  return !file.empty() && host.access_of(file) == FileAccess{.group = group_, .mode = 0660};
}

Status AccessStep::apply(Host& host, const Json& /*before*/) const {
  const std::string file = file_of(host, address_);
  if (file.empty()) {
    return Error{Errc::system, fmt::format("{} has no IOMMU group, so VFIO has no file for it", address_)};
  }
  // devtmpfs creates the file when the NIC is bound; udev may be about to set its owner.
  constexpr int kMoments = 50;
  for (int i = 0; i < kMoments && !host.exists(file); ++i) {
    host.wait_a_moment();
  }
  if (host.has_program("udevadm") && host.exists("/run/udev/control")) {
    static_cast<void>(host.run({"udevadm", "settle", "--timeout=10"}));
  }
  if (Status status = run_or_fail(host, {"chgrp", group_, file}); !status) {
    return status;
  }
  return run_or_fail(host, {"chmod", "0660", file});
}

}  // namespace tfabric::setup
