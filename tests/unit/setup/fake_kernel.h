// A host with PCI NICs for setup: its files are in a temporary folder, and this class simulates its kernel
// and programs.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "tests/unit/host/fake_host.h"
#include "tools/setup/host.h"
#include "tools/setup/json.h"

namespace tfabric::test {

// Thrown at the change at which setup is to be killed.
struct Killed {};

// All files and links of a host by path, and the state of its network; without /run.
using Snapshot = std::map<std::string, std::string>;
// Describes each difference in a line of text; empty if there is none.
[[nodiscard]] std::string difference(const Snapshot& before, const Snapshot& now);

struct FakeFolder {
  FakeHost files;
};

class FakeKernel final : public FakeFolder, public setup::Host {
 public:
  struct Interface {
    std::string function, mac;
    std::uint32_t mtu = 1500;
    bool up = false;
    setup::Json addresses = setup::Json::array();
    std::vector<setup::Json> routes;
    setup::Json more = setup::Json::object();  // further members of `ip address`: "master", "link"
  };

  // A host with hugepages of 2 MiB, an IOMMU, VFIO as modules and systemd, without a NIC.
  FakeKernel();

  // Adds a virtio NIC behind the IOMMU, whose interface has no address. Returns the interface.
  Interface& add_nic(const std::string& address, const std::string& name, int group);
  static void add_address(Interface& interface, const std::string& local, int length);
  static void add_route(Interface& interface, const setup::Json& route);
  // Adds the route that the kernel creates for an IPv4 address with a prefix of 24 bits.
  static void add_direct_route(Interface& interface, const std::string& local);
  // Adds a management NIC with the default route, and two ENIs with everything that setup has to restore.
  void add_cloud();
  void reboot();
  [[nodiscard]] Snapshot snapshot() const;
  [[nodiscard]] std::string driver(const std::string& address) const;

  Status write_attribute(const std::string& path, const std::string& text) override;
  Status write_file(const std::string& path, const std::string& text) override;
  [[nodiscard]] std::string program() const override { return program_path; }
  [[nodiscard]] std::string program_bytes() const override { return "the program"; }
  Status write_program(const std::string& path, const std::string& bytes) override {
    return write_file(path, bytes);
  }
  Status rename(const std::string& from, const std::string& to) override;
  Status remove(const std::string& path) override;
  Status make_folder(const std::string& path) override;
  Status make_link(const std::string& path, const std::string& target) override;
  setup::Output run(const std::vector<std::string>& words) override;
  void wait_a_moment() override {}
  [[nodiscard]] std::optional<setup::FileAccess> access_of(const std::string& path) const override;
  [[nodiscard]] bool has_group(const std::string& name) const override { return groups.contains(name); }

  // As setup::Console::try_nics.
  [[nodiscard]] Result<std::string> try_nics(const std::string& file) const {
    return nic_fault.empty() ? Result<std::string>("opened " + file) : Error{Errc::unusable, nic_fault};
  }

  std::map<std::string, Interface> interfaces;  // by name
  std::set<std::string> modules{"vfio-pci", "vfio_iommu_type1", "uio_pci_generic", "virtio-pci"};
  bool vfio_without_iommu = true;  // its unsafe mode is built in
  std::set<std::string> active;    // systemd units
  std::string program_path = "/usr/bin/tfabric";
  std::vector<std::string> calls;  // command lines of programs whose effect is not simulated
  std::set<std::string> groups{"root", "users"};
  std::map<std::string, setup::FileAccess> access;    // of VFIO's files, unless only root may open them
  std::string nic_fault;                              // what NICs have that are bound and do not work
  std::set<std::string> refusing;                     // drivers that accept no function
  std::uint64_t most_small = 100000, most_large = 0;  // hugepages that the kernel can provide
  int changes = 0;                                    // made so far
  int killed_at = -1;                                 // the change at which to kill; never if negative

 private:
  void change();
  void attach(const std::string& address, const std::string& driver);
  void detach(const std::string& address);
  // Create and remove the files of an interface.
  void show_interface(const std::string& name);
  void hide_interface(const std::string& name, const std::string& function) const;
  // NetworkManager removes its configuration from the interfaces that its files exclude.
  void release_unmanaged();
  void load(const std::string& module);
  void unload(const std::string& module);
  setup::Output run_ip(std::vector<std::string> words);
  setup::Output show_addresses() const;
  setup::Output show_routes(bool v6) const;
  bool set_link(const std::vector<std::string>& words);
  bool replace_address(const std::vector<std::string>& words);
  setup::Output append_route(const std::vector<std::string>& words, bool v6);

  std::map<std::string, std::string> macs_;  // by function
};

}  // namespace tfabric::test
