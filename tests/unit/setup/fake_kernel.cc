#include "tests/unit/setup/fake_kernel.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <filesystem>

#include "tools/setup/driver.h"

namespace tfabric::test {
namespace {

namespace fs = std::filesystem;
using setup::Json;
using setup::Output;
using Words = std::vector<std::string>;

constexpr auto kNative = "virtio-pci";
const std::string kFunctions = "/sys/bus/pci/devices/";
const std::string kHugepages = "/sys/kernel/mm/hugepages/hugepages-";

}  // namespace

FakeKernel::FakeKernel() : Host(files.root()) {
  files.write(kHugepages + "2048kB/nr_hugepages", "0\n");
  files.write(kHugepages + "2048kB/free_hugepages", "0\n");
  files.write("/proc/meminfo", "MemTotal: 33554432 kB\nMemAvailable: 16777216 kB\n");
  files.write("/proc/mounts", "devtmpfs /dev devtmpfs rw 0 0\n");
  files.write("/sys/class/iommu/dmar0/name", "\n");
  files.write("/usr/lib/systemd/systemd", "");
  fs::create_directories(files.root() + "/dev");
  fs::create_directories(files.root() + "/var/lib");
  fs::create_directories(files.root() + "/run/systemd/system");
  fs::create_directories(files.root() + "/etc/systemd/system");
  fs::create_directories(files.root() + "/sys/bus/pci/drivers/virtio-pci");
}

FakeKernel::Interface& FakeKernel::add_nic(const std::string& address, const std::string& name, int group) {
  const std::string folder = files.add_function(address);
  macs_[address] = fmt::format("52:54:00:00:00:{:02x}", macs_.size() + 1);
  files.write(folder + "/driver_override", "(null)\n");
  files.write(folder + "/numa_node", "0\n");
  files.link(folder + "/iommu_group", fmt::format("/sys/kernel/iommu_groups/{}", group));
  fs::create_directories(files.root() +
                         fmt::format("/sys/kernel/iommu_groups/{}/devices/{}", group, address));
  fs::create_symlink(files.root() + "/sys/bus/pci/drivers/virtio-pci", files.root() + folder + "/driver");
  interfaces[name] = {.function = address, .mac = macs_[address]};
  show_interface(name);
  return interfaces[name];
}

void FakeKernel::add_address(Interface& interface, const std::string& local, int length) {
  const bool v6 = local.find(':') != std::string::npos;
  interface.addresses.push_back(
      {{"family", v6 ? "inet6" : "inet"}, {"local", local}, {"prefixlen", length}, {"scope", "global"}});
}

void FakeKernel::add_route(Interface& interface, const Json& route) { interface.routes.push_back(route); }

void FakeKernel::add_direct_route(Interface& interface, const std::string& local) {
  const std::string network = local.substr(0, local.rfind('.')) + ".0/24";
  add_route(interface, {{"dst", network}, {"protocol", "kernel"}, {"scope", "link"}, {"prefsrc", local}});
}

void FakeKernel::add_cloud() {
  Interface& management = add_nic("0000:00:03.0", "ens3", 1);
  management.up = true;
  add_address(management, "192.168.0.2", 24);
  add_route(management,
            {{"dst", "default"}, {"gateway", "192.168.0.1"}, {"protocol", "dhcp"}, {"metric", 100}});
  Interface& first = add_nic("0000:00:06.0", "ens6", 6);
  first.up = true;
  first.mtu = 9001;
  add_address(first, "10.0.1.5", 24);
  first.addresses.back()["broadcast"] = "10.0.1.255";
  first.addresses.back()["valid_life_time"] = 3000;
  first.addresses.back()["preferred_life_time"] = 3000;
  add_address(first, "fd00:1::5", 64);
  add_address(first, "fd00:1::6", 64);
  first.addresses.back()["nodad"] = true;
  add_direct_route(first, "10.0.1.5");
  add_route(first, {{"dst", "default"}, {"gateway", "10.0.1.1"}, {"table", "1001"}, {"metric", 512}});
  add_route(first, {{"dst", "default"}, {"gateway", "fe80::1"}, {"v6", true}, {"table", "1001"}});
  Interface& second = add_nic("0000:00:07.0", "ens7", 7);
  second.up = true;
  add_address(second, "10.0.2.5", 24);
  add_direct_route(second, "10.0.2.5");
  add_route(second, {{"dst", "default"}, {"gateway", "10.0.2.1"}, {"protocol", "dhcp"}, {"metric", 300}});
  files.write("/proc/sys/net/ipv4/conf/ens7/rp_filter", "2\n");
}

void FakeKernel::show_interface(const std::string& name) {
  const Interface& interface = interfaces[name];
  files.write(kFunctions + interface.function + "/virtio0/net/" + name + "/mtu", "");
  files.write("/sys/class/net/" + name + "/address", interface.mac + "\n");
  files.write("/proc/sys/net/ipv4/conf/" + name + "/rp_filter", "0\n");
}

void FakeKernel::hide_interface(const std::string& name, const std::string& function) const {
  fs::remove_all(full(kFunctions + function + "/virtio0"));
  fs::remove_all(full("/sys/class/net/" + name));
  fs::remove_all(full("/proc/sys/net/ipv4/conf/" + name));
}

void FakeKernel::detach(const std::string& address) {
  fs::remove(full(kFunctions + address + "/driver"));
  std::erase_if(interfaces, [&](const auto& entry) {
    if (entry.second.function != address) {
      return false;
    }
    hide_interface(entry.first, address);
    return true;
  });
}

void FakeKernel::attach(const std::string& address, const std::string& driver) {
  fs::create_symlink(full("/sys/bus/pci/drivers/" + driver), full(kFunctions + address + "/driver"));
  if (driver == kNative) {
    int number = 0;
    while (interfaces.contains(fmt::format("eth{}", number))) {
      ++number;
    }
    const std::string name = fmt::format("eth{}", number);
    interfaces[name] = {.function = address, .mac = macs_[address]};
    show_interface(name);
  }
}

void FakeKernel::reboot() {
  access.clear();
  for (const auto& [address, mac] : macs_) {
    detach(address);
    files.write(kFunctions + address + "/driver_override", "(null)\n");
  }
  for (const std::string module : {"vfio-pci", "vfio_iommu_type1", "uio_pci_generic"}) {
    unload(module);
  }
  for (const std::string size : {"2048kB", "1048576kB"}) {
    if (exists(kHugepages + size)) {
      files.write(kHugepages + size + "/nr_hugepages", "0\n");
    }
  }
  for (const auto& [address, mac] : macs_) {
    attach(address, kNative);
  }
}

Snapshot FakeKernel::snapshot() const {
  Snapshot all;
  for (const auto& entry : fs::recursive_directory_iterator(files.root())) {
    const std::string path = entry.path().string().substr(files.root().size());
    if (path.starts_with("/run/") || path.starts_with("/sys/class/net")) {
      continue;
    }
    all[path] = entry.is_symlink()     ? "-> " + fs::read_symlink(entry.path()).string()
                : entry.is_directory() ? "/"
                                       : read(path).value_or("");
  }
  all["addresses"] = show_addresses().out;
  all["routes"] = show_routes(false).out + show_routes(true).out;
  return all;
}

std::string difference(const Snapshot& before, const Snapshot& now) {
  std::string text;
  for (const auto& [path, content] : before) {
    if (!now.contains(path)) {
      text += path + " is gone\n";
    } else if (now.at(path) != content) {
      text += fmt::format("{} was {} and is {}\n", path, content, now.at(path));
    }
  }
  for (const auto& [path, content] : now) {
    text += before.contains(path) ? "" : path + " is new\n";
  }
  return text;
}

std::string FakeKernel::driver(const std::string& address) const { return setup::driver_of(*this, address); }

void FakeKernel::change() {
  if (changes++ == killed_at) {
    throw Killed{};
  }
}

Status FakeKernel::write_attribute(const std::string& path, const std::string& text) {
  change();
  const std::string name = host::base_name(path);
  if (name == "unbind") {
    detach(text);
    return {};
  }
  if (name == "bind") {
    const std::string driver = host::base_name(path.substr(0, path.rfind('/')));
    const std::string only = setup::driver_override_of(*this, text);
    if (refusing.contains(driver) || !exists("/sys/bus/pci/drivers/" + driver) ||
        (!only.empty() && only != driver)) {
      return Error{Errc::system, "No such device"};
    }
    attach(text, driver);
    return {};
  }
  if (name == "drivers_probe") {
    const std::string only = setup::driver_override_of(*this, text);
    const std::string driver = only.empty() ? kNative : only;
    if (setup::driver_of(*this, text).empty() && exists("/sys/bus/pci/drivers/" + driver)) {
      attach(text, driver);
    }
    return {};
  }
  if (name == "driver_override") {
    files.write(path, text == "\n" ? "(null)\n" : text);
    return {};
  }
  if (name == "nr_hugepages") {
    const std::uint64_t most = path.find("1048576kB") == std::string::npos ? most_small : most_large;
    files.write(path, fmt::format("{}\n", std::min<std::uint64_t>(std::stoull(text), most)));
    return {};
  }
  if (name == "enable_unsafe_noiommu_mode") {
    files.write(path, text + "\n");
    return {};
  }
  return Host::write_attribute(path, text);
}

Status FakeKernel::write_file(const std::string& path, const std::string& text) {
  if (changes == killed_at) {
    files.write(path + ".tfabric-new", text.substr(0, text.size() / 2));
  }
  change();
  if (!exists(path.substr(0, path.rfind('/')))) {
    return Error{Errc::system, "No such file or directory"};
  }
  // Without fsync(2), since the tests write thousands of files.
  files.write(path + ".tfabric-new", text);
  fs::rename(full(path + ".tfabric-new"), full(path));
  return {};
}

Status FakeKernel::rename(const std::string& from, const std::string& to) {
  change();
  fs::rename(full(from), full(to));
  return {};
}

Status FakeKernel::remove(const std::string& path) {
  if (exists(path)) {
    change();
  }
  return Host::remove(path);
}

Status FakeKernel::make_folder(const std::string& path) {
  if (!exists(path)) {
    change();
  }
  return Host::make_folder(path);
}

Status FakeKernel::make_link(const std::string& path, const std::string& target) {
  change();
  if (exists(path)) {
    return Error{Errc::system, "File exists"};
  }
  fs::create_symlink(target, full(path));
  return {};
}

void FakeKernel::load(const std::string& module) {
  if (module == "vfio_iommu_type1") {
    fs::create_directories(full("/sys/module/vfio_iommu_type1"));
    return;
  }
  fs::create_directories(full("/sys/bus/pci/drivers/" + module));
  if (module == "vfio-pci" && vfio_without_iommu && !exists("/sys/module/vfio/parameters")) {
    files.write("/sys/module/vfio/parameters/enable_unsafe_noiommu_mode", "N\n");
  }
}

void FakeKernel::unload(const std::string& module) {
  if (module == "vfio-pci") {
    fs::remove_all(full("/sys/module/vfio"));
  }
  fs::remove_all(
      full(module == "vfio_iommu_type1" ? "/sys/module/" + module : "/sys/bus/pci/drivers/" + module));
  std::error_code not_empty;
  fs::remove(full("/sys/module"), not_empty);
}

Output FakeKernel::run(const Words& words) {
  const std::string& program = words[0];
  if (program == "ip") {
    return run_ip({words.begin() + 1, words.end()});
  }
  if (program == "modprobe" && words[1] == "--dry-run") {
    return {.status = modules.contains(words.back()) ? 0 : 1};
  }
  if (program == "systemctl" && words[1] == "is-active") {
    return {.status = active.contains(words.back()) ? 0 : 3};
  }
  if (program == "modinfo") {
    return {.out = vfio_without_iommu ? "enable_unsafe_noiommu_mode:Enable UNSAFE, no-IOMMU mode. (bool)\n"
                                      : ""};
  }
  change();
  if (program == "modprobe") {
    if (!modules.contains(words.back())) {
      return {.status = 1, .err = "Module " + words.back() + " not found"};
    }
    words[1] == "-r" ? unload(words.back()) : load(words.back());
  } else if (program == "mount") {
    files.write("/proc/mounts", *read("/proc/mounts") + "hugetlbfs " + words.back() + " hugetlbfs rw 0 0\n");
  } else if (program == "chgrp") {
    access[words[2]] = {.group = words[1], .mode = access_of(words[2])->mode};
  } else if (program == "chmod") {
    access[words[2]].mode = static_cast<unsigned>(std::stoul(words[1], nullptr, 8));
  } else if (program == "umount") {
    std::string text = *read("/proc/mounts");
    text.erase(text.find("hugetlbfs "));
    files.write("/proc/mounts", text);
  } else {
    calls.push_back(fmt::format("{}", fmt::join(words, " ")));
    if (program == "nmcli") {
      release_unmanaged();
    }
  }
  return {};
}

std::optional<setup::FileAccess> FakeKernel::access_of(const std::string& path) const {
  const auto found = access.find(path);
  return found == access.end() ? setup::FileAccess{.group = "root", .mode = 0600} : found->second;
}

void FakeKernel::release_unmanaged() {
  const std::string text = read("/etc/NetworkManager/conf.d/90-tfabric-setup.conf").value_or("");
  for (auto& [name, interface] : interfaces) {
    if (text.find("mac:" + interface.mac) != std::string::npos) {
      interface = {.function = interface.function, .mac = interface.mac};
    }
  }
}

}  // namespace tfabric::test
