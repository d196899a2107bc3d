// The changes that setup makes to a host, one class a kind of change, each with its way back.
//
// A step is constructed from what is wanted; the same is kept in the journal as JSON, from which make_step()
// constructs the step again after an interruption or a reboot.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/result.h"
#include "tools/setup/eni.h"
#include "tools/setup/host.h"
#include "tools/setup/json.h"

namespace tfabric::setup {

class Step {
 public:
  Step() = default;
  virtual ~Step() = default;
  Step(const Step&) = delete;
  Step& operator=(const Step&) = delete;

  // Unique among all steps of a host, of all runs: "bind 0000:00:06.0".
  [[nodiscard]] virtual std::string id() const = 0;
  // For people, as an order: "bind 0000:00:06.0 (eth1) to vfio-pci".
  [[nodiscard]] virtual std::string describe() const = 0;
  // What make_step() constructs the step from; "kind" names the class.
  [[nodiscard]] virtual Json wanted() const = 0;
  // Returns true if the host is as wanted.
  [[nodiscard]] virtual bool done(const Host& host) const = 0;
  // Returns what undo() needs to know of the host's present state.
  virtual Result<Json> state_before(Host& host) const = 0;
  // Both can be repeated, starting from any state that an interrupted call may have left.
  virtual Status apply(Host& host, const Json& before) const = 0;
  virtual Status undo(Host& host, const Json& before) const = 0;
  // True if done() cannot find out (in reasonable time, without changing anything): the journal decides.
  [[nodiscard]] virtual bool only_journal_knows() const { return false; }
  // True if apply() may change addresses and routes of the ENIs, itself or through a service that it
  // notifies.
  [[nodiscard]] virtual bool touches_network() const { return false; }
  // True if a reboot undoes the step, so that it has to be repeated then.
  [[nodiscard]] virtual bool again_at_boot() const { return false; }
};

using StepPtr = std::unique_ptr<Step>;

// Errors: this version does not know the kind.
Result<StepPtr> make_step(const Json& wanted);

// The drivers by which DPDK accesses NICs: VFIO, with an IOMMU or in its unsafe mode without one, and UIO for
// kernels without VFIO.
inline constexpr auto kVfio = "vfio-pci";
inline constexpr auto kUio = "uio_pci_generic";

// Loads one of these drivers.
class ModuleStep final : public Step {
 public:
  static constexpr auto kKind = "modules";

  // `no_iommu`: switch on VFIO's unsafe mode.
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

// Moves an ENI from the kernel's driver to DPDK's; undo restores its network configuration as well.
class BindStep final : public Step {
 public:
  static constexpr auto kKind = "bind";

  BindStep(Eni eni, std::string driver) : eni_(std::move(eni)), driver_(std::move(driver)) {}
  explicit BindStep(const Json& wanted)
      : BindStep(eni_from(part_of(wanted, "eni")), text_of(wanted, "driver")) {}

  [[nodiscard]] std::string id() const override { return "bind " + eni_.address; }
  [[nodiscard]] std::string describe() const override {
    return "bind " + eni_.address + " (" + eni_.name + ") to " + driver_;
  }
  [[nodiscard]] Json wanted() const override {
    return {{"kind", kKind}, {"eni", to_json(eni_)}, {"driver", driver_}};
  }
  [[nodiscard]] bool done(const Host& host) const override;
  Result<Json> state_before(Host& host) const override;
  // Refuses a NIC whose MAC is not the recorded one, and one that is a protected interface by now.
  Status apply(Host& host, const Json& before) const override;
  Status undo(Host& host, const Json& before) const override;
  [[nodiscard]] bool touches_network() const override { return true; }
  [[nodiscard]] bool again_at_boot() const override { return true; }

  [[nodiscard]] const Eni& eni() const { return eni_; }
  [[nodiscard]] const std::string& driver() const { return driver_; }

 private:
  Eni eni_;
  std::string driver_;
};

// Gives a group of users access to a NIC's VFIO file, which the kernel creates for root alone each time that
// the NIC is bound. With an IOMMU a job needs no other right, except to lock memory.
class AccessStep final : public Step {
 public:
  static constexpr auto kKind = "access";

  AccessStep(std::string address, std::string group)
      : address_(std::move(address)), group_(std::move(group)) {}
  explicit AccessStep(const Json& wanted)
      : AccessStep(text_of(wanted, "address"), text_of(wanted, "group")) {}

  [[nodiscard]] std::string id() const override { return "access " + address_; }
  [[nodiscard]] std::string describe() const override;
  [[nodiscard]] Json wanted() const override {
    return {{"kind", kKind}, {"address", address_}, {"group", group_}};
  }
  [[nodiscard]] bool done(const Host& host) const override;
  Result<Json> state_before(Host& /*host*/) const override { return Json::object(); }
  Status apply(Host& host, const Json& before) const override;
  // The kernel removes the file when the NIC is unbound from VFIO.
  Status undo(Host& /*host*/, const Json& /*before*/) const override { return {}; }
  [[nodiscard]] bool again_at_boot() const override { return true; }

 private:
  std::string address_, group_;
};

// Reserves hugepages at run time: pages of 1 GiB if the kernel still finds such contiguous memory, else of 2
// MiB.
class HugepageStep final : public Step {
 public:
  static constexpr auto kKind = "hugepages";

  // `large` and `small` are the numbers of all pages of 1 GiB or 2 MiB that the host has afterwards, one or
  // the other. With `large` 0, pages of 1 GiB are not tried. `need_mib` is what the ranks need.
  HugepageStep(std::uint64_t large, std::uint64_t small, std::uint64_t need_mib)
      : large_(large), small_(small), need_mib_(need_mib) {}
  explicit HugepageStep(const Json& wanted);

  [[nodiscard]] std::string id() const override { return kKind; }
  [[nodiscard]] std::string describe() const override;
  [[nodiscard]] Json wanted() const override;
  [[nodiscard]] bool done(const Host& host) const override;
  Result<Json> state_before(Host& host) const override;
  Status apply(Host& host, const Json& before) const override;
  Status undo(Host& host, const Json& before) const override;
  [[nodiscard]] bool again_at_boot() const override { return true; }
  [[nodiscard]] std::uint64_t large() const { return large_; }
  [[nodiscard]] std::uint64_t small() const { return small_; }
  [[nodiscard]] std::uint64_t need_mib() const { return need_mib_; }

 private:
  std::uint64_t large_, small_, need_mib_;
};

// Mounts hugetlbfs for programs that find hugepages by it. tfabric itself does not need it.
class MountStep final : public Step {
 public:
  static constexpr auto kKind = "mount";

  MountStep() = default;
  explicit MountStep(const Json& /*wanted*/) {}

  [[nodiscard]] std::string id() const override { return kKind; }
  [[nodiscard]] std::string describe() const override;
  [[nodiscard]] Json wanted() const override { return {{"kind", kKind}}; }
  // True if it is mounted anywhere.
  [[nodiscard]] bool done(const Host& host) const override;
  Result<Json> state_before(Host& host) const override;
  Status apply(Host& host, const Json& before) const override;
  Status undo(Host& host, const Json& before) const override;
  [[nodiscard]] bool again_at_boot() const override { return true; }
};

// A program that makes a service read its files again after one was written or removed.
struct Reload {
  std::vector<std::string> words;  // empty if nothing needs to be run
  std::string service;             // run it only if this systemd unit is active
  std::string path;                // run it only if this path exists
};

// Writes a file. What was in its place is kept beside it, and restored by undo.
class FileStep final : public Step {
 public:
  static constexpr auto kKind = "file";
  static constexpr auto kKept = ".before-tfabric-setup";  // suffix of the file that was replaced
  static constexpr auto kEdited = ".edited";  // suffix of setup's file if it was edited before undo

  FileStep(std::string path, std::string text, Reload reload = {})
      : path_(std::move(path)), text_(std::move(text)), reload_(std::move(reload)) {}
  explicit FileStep(const Json& wanted);

  [[nodiscard]] std::string id() const override { return "file " + path_; }
  [[nodiscard]] std::string describe() const override { return "write " + path_; }
  [[nodiscard]] Json wanted() const override;
  [[nodiscard]] bool done(const Host& host) const override { return host.read(path_) == text_; }
  Result<Json> state_before(Host& host) const override;
  Status apply(Host& host, const Json& before) const override;
  Status undo(Host& host, const Json& before) const override;
  // The services that files are written for are network managers.
  [[nodiscard]] bool touches_network() const override { return !reload_.service.empty(); }

 private:
  Status reload(Host& host) const;

  std::string path_, text_;
  Reload reload_;
};

// Makes a symbolic link, such as those by which systemd units are enabled.
class LinkStep final : public Step {
 public:
  static constexpr auto kKind = "link";

  LinkStep(std::string path, std::string target) : path_(std::move(path)), target_(std::move(target)) {}
  explicit LinkStep(const Json& wanted) : LinkStep(text_of(wanted, "path"), text_of(wanted, "target")) {}

  [[nodiscard]] std::string id() const override { return "link " + path_; }
  [[nodiscard]] std::string describe() const override { return "link " + path_ + " to " + target_; }
  [[nodiscard]] Json wanted() const override {
    return {{"kind", kKind}, {"path", path_}, {"target", target_}};
  }
  [[nodiscard]] bool done(const Host& host) const override { return host.read_link(path_) == target_; }
  Result<Json> state_before(Host& host) const override;
  Status apply(Host& host, const Json& before) const override;
  Status undo(Host& host, const Json& before) const override;

 private:
  std::string path_, target_;
};

// Keeps a copy of this program at a path that only root can write to, for the systemd unit: the program may
// have been started from a build folder, whose owner could then have root run anything at the next boot.
class ProgramStep final : public Step {
 public:
  static constexpr auto kKind = "program";

  explicit ProgramStep(std::string path) : path_(std::move(path)) {}
  explicit ProgramStep(const Json& wanted) : ProgramStep(text_of(wanted, "path")) {}

  [[nodiscard]] std::string id() const override { return "program " + path_; }
  [[nodiscard]] std::string describe() const override { return "copy this program to " + path_; }
  [[nodiscard]] Json wanted() const override { return {{"kind", kKind}, {"path", path_}}; }
  [[nodiscard]] bool done(const Host& host) const override;
  Result<Json> state_before(Host& host) const override;
  Status apply(Host& host, const Json& before) const override;
  Status undo(Host& host, const Json& before) const override;

 private:
  std::string path_;
};

// Adds arguments to the kernel's command line by grubby (Fedora, RHEL and relatives; BIOS and UEFI). For
// update-grub a FileStep does it.
class KernelLineStep final : public Step {
 public:
  static constexpr auto kKind = "kernel-line";

  explicit KernelLineStep(std::string arguments) : arguments_(std::move(arguments)) {}
  explicit KernelLineStep(const Json& wanted) : KernelLineStep(text_of(wanted, "arguments")) {}

  [[nodiscard]] std::string id() const override { return kKind; }
  [[nodiscard]] std::string describe() const override {
    return "add \"" + arguments_ + "\" to the kernel's command line, by grubby";
  }
  [[nodiscard]] Json wanted() const override { return {{"kind", kKind}, {"arguments", arguments_}}; }
  [[nodiscard]] bool done(const Host& /*host*/) const override { return false; }
  [[nodiscard]] bool only_journal_knows() const override { return true; }
  Result<Json> state_before(Host& /*host*/) const override { return Json::object(); }
  Status apply(Host& host, const Json& before) const override;
  Status undo(Host& host, const Json& before) const override;

 private:
  std::string arguments_;
};

// Makes the folder in which all users' processes keep their pages, so that they outlive the processes
// (observe/page_place.h). One that is there is the administrator's, or the package's.
class PageFolderStep final : public Step {
 public:
  static constexpr auto kKind = "page-folder";

  PageFolderStep() = default;
  explicit PageFolderStep(const Json& /*wanted*/) {}

  [[nodiscard]] std::string id() const override { return kKind; }
  [[nodiscard]] std::string describe() const override;
  [[nodiscard]] Json wanted() const override { return {{"kind", kKind}}; }
  [[nodiscard]] bool done(const Host& host) const override;
  Result<Json> state_before(Host& host) const override;
  Status apply(Host& host, const Json& before) const override;
  // Leaves the folder as long as there are pages in it.
  Status undo(Host& host, const Json& before) const override;
  [[nodiscard]] bool again_at_boot() const override { return true; }
};

// For steps that write files: the folders above `path` that do not exist, outermost first.
[[nodiscard]] Json missing_folders(const Host& host, const std::string& path);
Status make_folders_of(Host& host, const std::string& path);
// Removes those of the folders that are empty; the others are in use by now.
Status remove_folders(Host& host, const Json& folders);

}  // namespace tfabric::setup
