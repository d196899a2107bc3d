// What setup needs to know of the host to make its plan. Gathering it changes nothing.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "config/config.h"
#include "host/pci.h"
#include "hugepage/budget.h"
#include "tools/setup/driver.h"
#include "tools/setup/eni.h"
#include "tools/setup/journal.h"
#include "tools/setup/network.h"

namespace tfabric::setup {

// The program that changes the kernel's command line for the next boots.
enum class BootLoader : std::uint8_t { unknown, update_grub, grubby };

struct Facts {
  Network network;
  std::vector<SshSession> sessions;
  std::vector<host::PciFunction> functions;  // the Ethernet ones
  // By PCI address: what else is in the function's IOMMU group, and ENIs that are described by the journal,
  // as they are not (completely) under the kernel at present.
  std::map<std::string, std::vector<Neighbour>> neighbours;
  std::map<std::string, Eni> recorded;
  std::string driver;  // which the recorded ENIs have, or are about to get; empty: none is recorded
  Json hugepages;      // what the journal's HugepageStep wants; null: there is none
  hugepage::Pages pages;
  std::uint64_t available_mib = 0;  // of memory
  unsigned gpus = 0;
  bool iommu = false;
  bool vfio = false, uio = false;   // the kernel has this driver
  bool vfio_without_iommu = false;  // VFIO was built with its unsafe mode
  bool systemd = false;
  std::string network_manager_folder, networkd_folder;  // for drop-in files; empty: not installed
  BootLoader boot_loader = BootLoader::unknown;
  std::optional<std::string> config_text;   // of the file at kConfigPath
  bool config_is_ours = false;              // setup wrote the file, and it has not been edited since
  Result<config::Config> config = Error{};  // what the file says
  std::string program;                      // which the systemd unit runs: this one, or the copy
  bool page_folder = false;                 // there is a folder for processes' pages
  bool has_group = false;                   // the group that gather() was asked about exists
};

Result<Facts> gather(Host& host, const Journal& journal, const std::string& group);

}  // namespace tfabric::setup
