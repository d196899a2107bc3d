#include "tools/setup/plan.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <utility>

#include "host/dpdk_nics.h"
#include "tools/setup/files.h"

namespace tfabric::setup {
namespace {

template <class T, class... Arguments>
void add(Plan& plan, Arguments&&... arguments) {
  plan.steps.push_back(std::make_unique<T>(std::forward<Arguments>(arguments)...));
}

// The driver that the ENIs are bound to, and whether VFIO needs its unsafe mode.
struct Driver {
  std::string name;
  bool no_iommu = false;
};

Result<Driver> choose_driver(const Facts& facts, const PlanOptions& options) {
  if (facts.iommu && facts.vfio) {
    return Driver{kVfio};
  }
  if (!facts.vfio && !facts.uio) {
    return Error{Errc::unusable,
                 "this kernel has neither vfio-pci nor uio_pci_generic: install its package of extra "
                 "modules (Ubuntu: linux-modules-extra-…; RHEL: kernel-modules)"};
  }
  if (!options.allow_no_iommu) {
    return Error{
        Errc::unusable,
        fmt::format(
            "{}: NICs under the control of user space could then write to any memory of this host. Switch "
            "an IOMMU on (in the firmware's settings, or by intel_iommu=on on the kernel's command line), "
            "or accept that by --allow-no-iommu",
            facts.iommu ? "this kernel has no vfio-pci" : "no IOMMU is active here")};
  }
  if (facts.vfio_without_iommu) {
    return Driver{kVfio, /*no_iommu=*/true};
  }
  if (!facts.uio) {
    return Error{
        Errc::unusable,
        "this kernel's VFIO does not work without an IOMMU (CONFIG_VFIO_NOIOMMU is off), and there is "
        "no uio_pci_generic: switch an IOMMU on"};
  }
  return Driver{kUio};
}

void note_driver(const Driver& driver, Plan& plan) {
  if (driver.no_iommu || driver.name == kUio) {
    plan.notes.push_back(fmt::format(
        "WARNING: {} without an IOMMU: a process that uses one of these NICs can, by intent or by a fault, "
        "read and write all memory of this host; the kernel is marked as tainted",
        driver.name));
    plan.notes.emplace_back(
        "jobs then need root's rights (CAP_SYS_ADMIN, CAP_SYS_RAWIO), and the data they send is copied "
        "first");
  }
}

// ENA's driver hears of its commands' ends and of the device's keep-alives by interrupts
// (doc.dpdk.org/guides-22.11/nics/ena.html), which uio_pci_generic does not pass on.
void note_interrupts(const Facts& facts, const Driver& driver, Plan& plan) {
  if (driver.name != kUio) {
    return;
  }
  for (const host::PciFunction& function : facts.functions) {
    const auto is_chosen = [&](const Eni& eni) { return eni.address == function.address; };
    if (host::dpdk_driver_of(function) == "net_ena" && std::ranges::any_of(plan.selection.enis, is_chosen)) {
      plan.notes.push_back(fmt::format(
          "WARNING: {} is an ENA, whose driver needs interrupts, and {} has none: use a kernel with "
          "CONFIG_VFIO_NOIOMMU, or igb_uio (docs/clouds/aws.md)",
          function.address, driver.name));
    }
  }
}

bool same_rails(const config::Config& config, const std::vector<Eni>& enis) {
  const auto& rails = config.tcp.rails;
  return rails.size() == enis.size() &&
         std::equal(rails.begin(), rails.end(), enis.begin(), [](const config::Rail& rail, const Eni& eni) {
           return config::is_nic(rail) && rail.device == eni.address && rail.addresses == eni.addresses &&
                  rail.gateway == eni.gateway && rail.gateway6 == eni.gateway6 && rail.mtu == eni.mtu;
         });
}

Result<std::string> choose_config(const Facts& facts, const PlanOptions& options,
                                  const std::vector<Eni>& enis, Plan& plan) {
  if (facts.config_text && facts.config && same_rails(*facts.config, enis)) {
    return *facts.config_text;
  }
  if (facts.config_text && !facts.config_is_ours) {
    if (!options.replace_config) {
      return Error{
          Errc::invalid_usage,
          fmt::format(
              "{} exists with other rails and was not written by setup: with --replace-config it is kept "
              "beside the new one as tfabric.toml{}, and --undo restores it",
              kConfigPath, FileStep::kKept)};
    }
    plan.notes.push_back(fmt::format("{} is kept as tfabric.toml{} beside it", kConfigPath, FileStep::kKept));
  }
  return config_text(enis);
}

void note_protection(const Facts& facts, Plan& plan) {
  if (protected_interfaces(facts.network, facts.sessions).empty()) {
    plan.notes.emplace_back(
        "WARNING: no NIC is known to be the one by which this host is reached (there is no default route and "
        "no ssh session): exclude it by --exclude");
  }
}

void note_gateways(const Facts& facts, const std::vector<Eni>& enis, Plan& plan) {
  for (const Eni& eni : enis) {
    if (eni.gateway.empty() && eni.gateway6.empty()) {
      plan.notes.push_back(
          fmt::format("{0} ({1}) has no gateway, so it reaches only its own networks: "
                      "--gateway {1}=ADDRESS, if peers are in others",
                      eni.address, eni.name));
    }
    for (const bool v6 : {false, true}) {
      const std::string& gateway = v6 ? eni.gateway6 : eni.gateway;
      const auto others = networks_by_others(facts.network, eni.name, gateway, v6);
      if (!gateway.empty() && !others.empty()) {
        plan.notes.push_back(
            fmt::format("{} ({}) has one gateway as a rail, {}; under the kernel it reaches {}", eni.address,
                        eni.name, gateway, fmt::join(others, ", ")));
      }
    }
  }
}

void add_managers(const Facts& facts, const std::vector<Eni>& enis, Plan& plan) {
  if (!facts.network_manager_folder.empty()) {
    add<FileStep>(plan, facts.network_manager_folder + "/90-tfabric-setup.conf", network_manager_text(enis),
                  Reload{.words = {"nmcli", "general", "reload", "conf"}, .service = "NetworkManager"});
  }
  if (!facts.networkd_folder.empty()) {
    add<FileStep>(plan, facts.networkd_folder + "/00-tfabric-setup.network", networkd_text(enis),
                  Reload{.words = {"networkctl", "reload"}, .service = "systemd-networkd"});
  }
}

// Adds the steps of --group. Without an IOMMU, access to a NIC is control over the host, so only root gets
// it.
Status add_group(const Facts& facts, const PlanOptions& options, const std::vector<Eni>& enis,
                 const Driver& driver, Plan& plan) {
  if (options.group.empty()) {
    return {};
  }
  if (driver.no_iommu || driver.name == kUio) {
    return Error{Errc::invalid_usage, "--group needs an IOMMU: without one, only root may use the NICs"};
  }
  if (!facts.has_group) {
    return Error{Errc::invalid_usage,
                 fmt::format("--group {0}: this host has no such group (groupadd {0})", options.group)};
  }
  for (const Eni& eni : enis) {
    add<AccessStep>(plan, eni.address, options.group);
  }
  add<FileStep>(plan, kUdevPath, udev_text(options.group),
                Reload{.words = {"udevadm", "control", "--reload"}, .path = "/run/udev/control"});
  add<FileStep>(plan, kLimitsPath, limits_text(options.group));
  return {};
}

void add_persistence(const Facts& facts, Plan& plan) {
  if (!facts.systemd) {
    plan.notes.emplace_back(
        "this host has no systemd: run `tfabric setup --boot` yourself at each boot, before the network "
        "is started");
    return;
  }
  if (facts.program == kProgramCopy) {
    add<ProgramStep>(plan, std::string(kProgramCopy));
  }
  add<FileStep>(plan, kUnitPath, unit_text(facts.program),
                Reload{.words = {"systemctl", "daemon-reload"}, .path = "/run/systemd/system"});
  add<LinkStep>(plan, kUnitLinkPath, kUnitPath);
}

Status add_kernel_line(const Facts& facts, const std::string& arguments, Plan& plan) {
  switch (facts.boot_loader) {
    case BootLoader::update_grub:
      add<FileStep>(plan, kGrubPath, grub_text(arguments), Reload{.words = {"update-grub"}});
      break;
    case BootLoader::grubby:
      add<KernelLineStep>(plan, arguments);
      break;
    case BootLoader::unknown:
      return Error{Errc::unusable,
                   fmt::format("neither update-grub nor grubby is installed: add \"{}\" to the "
                               "kernel's command line by hand, without --kernel-command-line",
                               arguments)};
  }
  plan.notes.push_back(fmt::format(
      "the kernel's command line gets \"{}\", which takes effect after the next reboot", arguments));
  return {};
}

}  // namespace

Result<Plan> make_plan(const Facts& facts, const PlanOptions& options) {
  const Result<GivenNetworks> given = parse_given(options.addresses, options.gateways);
  if (!given) {
    return given.error();
  }
  Result<Selection> selection = select(facts, options.nics, options.exclude, *given);
  if (!selection) {
    return selection.error();
  }
  Plan plan{.selection = std::move(*selection)};
  const std::vector<Eni>& enis = plan.selection.enis;
  if (enis.empty()) {
    return plan;
  }
  const Result<Driver> driver = choose_driver(facts, options);
  if (!driver) {
    return driver.error();
  }
  Result<std::unique_ptr<HugepageStep>> hugepages = plan_hugepages(facts, options, enis);
  if (!hugepages) {
    return hugepages.error();
  }
  Result<std::string> config = choose_config(facts, options, enis, plan);
  if (!config) {
    return config.error();
  }
  note_protection(facts, plan);
  note_driver(*driver, plan);
  note_interrupts(facts, *driver, plan);
  note_gateways(facts, enis, plan);
  const std::string kernel_line = kernel_arguments(**hugepages);
  plan.steps.push_back(std::move(*hugepages));
  add<MountStep>(plan);
  add<ModuleStep>(plan, driver->name, driver->no_iommu);
  add_managers(facts, enis, plan);
  for (const Eni& eni : enis) {
    add<BindStep>(plan, eni, driver->name);
  }
  if (Status status = add_group(facts, options, enis, *driver, plan); !status) {
    return status.error();
  }
  add<FileStep>(plan, kConfigPath, *config);
  add<PageFolderStep>(plan);
  add_persistence(facts, plan);
  if (options.kernel_command_line) {
    if (Status status = add_kernel_line(facts, kernel_line, plan); !status) {
      return status.error();
    }
  }
  return plan;
}

}  // namespace tfabric::setup
