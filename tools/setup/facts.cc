#include "tools/setup/facts.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <sstream>
#include <string_view>

#include "host/interfaces.h"
#include "tools/setup/files.h"
#include "tools/setup/steps.h"

namespace tfabric::setup {
namespace {

// /proc/meminfo has the line "MemAvailable:    1234 kB" (proc(5)).
std::uint64_t available_mib(const Host& host) {
  std::istringstream words(host.read("/proc/meminfo").value_or(""));
  std::string word;
  while (words >> word) {
    std::uint64_t kib = 0;
    if (word == "MemAvailable:" && words >> kib) {
      return kib / 1024;
    }
  }
  return 0;
}

// Counts NVIDIA's display controllers of the classes VGA (0300h) and 3D (0302h).
unsigned count_gpus(const Host& host) {
  unsigned count = 0;
  for (const std::string& address : host.list("/sys/bus/pci/devices")) {
    const std::string folder = "bus/pci/devices/" + address;
    const std::string code = host.sysfs().read(folder + "/class").value_or("");
    if (host.sysfs().read(folder + "/vendor") == "0x10de" &&
        (code.starts_with("0x0302") || code.starts_with("0x0300"))) {
      ++count;
    }
  }
  return count;
}

bool has_module(Host& host, const std::string& name) {
  return host.exists("/sys/bus/pci/drivers/" + name) ||
         host.run({"modprobe", "--dry-run", "--quiet", name}).ok();
}

// Some modules are built without some of their parameters, VFIO without CONFIG_VFIO_NOIOMMU.
bool has_parameter(Host& host, const std::string& module, const std::string& name) {
  return host.exists("/sys/module/" + module + "/parameters/" + name) ||
         host.run({"modinfo", "--field", "parm", module}).out.find(name + ":") != std::string::npos;
}

bool has_interface_with_addresses(const Facts& facts, const host::PciFunction& function) {
  return std::any_of(function.interfaces.begin(), function.interfaces.end(), [&](const std::string& name) {
    const Link* link = facts.network.find(name);
    return link != nullptr && !usable_addresses(*link).empty();
  });
}

// Takes ENIs that are not under the kernel, or whose restoration is not finished, from the journal.
void read_journal(const Journal& journal, Facts& facts) {
  for (const JournalEntry& entry : journal.entries()) {
    const std::string kind = text_of(entry.wanted, "kind");
    if (kind == HugepageStep::kKind) {
      facts.hugepages = entry.wanted;
    }
    if (kind == BindStep::kKind) {
      const BindStep step(entry.wanted);
      const std::string& address = step.eni().address;
      const auto function = std::find_if(facts.functions.begin(), facts.functions.end(),
                                         [&](const auto& other) { return other.address == address; });
      if (function != facts.functions.end() &&
          (entry.state == JournalEntry::State::undoing || !has_interface_with_addresses(facts, *function))) {
        facts.recorded.emplace(address, step.eni());
        facts.driver = step.driver();
      }
    }
    if (entry.id == FileStep(kConfigPath, "").id()) {
      facts.config_is_ours =
          entry.state == JournalEntry::State::begun || facts.config_text == text_of(entry.wanted, "text");
    }
  }
}

void read_system(Host& host, Facts& facts) {
  facts.vfio = has_module(host, "vfio-pci");
  facts.uio = has_module(host, "uio_pci_generic");
  facts.vfio_without_iommu = facts.vfio && has_parameter(host, "vfio", "enable_unsafe_noiommu_mode");
  facts.iommu = !host.list("/sys/class/iommu").empty() ||
                std::any_of(facts.functions.begin(), facts.functions.end(),
                            [](const auto& function) { return function.iommu_group && !function.no_iommu; });
  facts.systemd = host.exists("/usr/lib/systemd/systemd") || host.exists("/lib/systemd/systemd");
  if (host.has_program("NetworkManager")) {
    facts.network_manager_folder = "/etc/NetworkManager/conf.d";
  }
  if (host.exists("/usr/lib/systemd/systemd-networkd") || host.exists("/lib/systemd/systemd-networkd")) {
    facts.networkd_folder = "/etc/systemd/network";
  }
  if (host.has_program("grubby")) {
    facts.boot_loader = BootLoader::grubby;
  } else if (host.has_program("update-grub")) {
    facts.boot_loader = BootLoader::update_grub;
  }
}

// Returns `program` if it is installed, where only root can replace it and packages do; else where a copy is
// kept.
std::string unit_program(const std::string& program) {
  constexpr std::array<std::string_view, 4> kFolders{"/usr/bin", "/usr/sbin", "/usr/local/bin",
                                                     "/usr/local/sbin"};
  const std::string_view folder = std::string_view(program).substr(0, program.rfind('/'));
  const bool removed = program.ends_with(" (deleted)");  // as the kernel marks it
  return !removed && std::find(kFolders.begin(), kFolders.end(), folder) != kFolders.end() ? program
                                                                                           : kProgramCopy;
}

}  // namespace

Result<Facts> gather(Host& host, const Journal& journal, const std::string& group) {
  Facts facts;
  Result<Network> network = read_network(host);
  if (!network) {
    return network.error();
  }
  facts.network = std::move(*network);
  for (Link& link : facts.network.links) {
    // It cannot be read while the link is down.
    const auto speed = host.sysfs().read_number("class/net/" + link.name + "/speed");
    link.speed_mbps = host::known_speed(speed.value_or(0));
  }
  facts.sessions = ssh_sessions(host);
  facts.functions = host::ethernet_functions(host.sysfs());
  for (const host::PciFunction& function : facts.functions) {
    facts.neighbours[function.address] = group_neighbours(host, function.address);
  }
  facts.pages = hugepage::discover_pages(host.full(""));
  facts.available_mib = available_mib(host);
  facts.gpus = count_gpus(host);
  facts.config_text = host.read(kConfigPath);
  if (facts.config_text) {
    const std::array<std::string, 1> files{host.full(kConfigPath)};
    facts.config = config::load({}, files);
  }
  read_system(host, facts);
  read_journal(journal, facts);
  facts.has_group = host.has_group(group);
  facts.page_folder = host.exists(kPagesPath);
  facts.program = unit_program(host.program());
  return facts;
}

}  // namespace tfabric::setup
