// What setup needs to know of the host to make its plan. Reading it changes nothing.
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
#include "tools/setup/protection.h"

namespace tfabric::setup {

// How the kernel's command line of the next boots is changed here.
enum class BootLoader : std::uint8_t { unknown, update_grub, grubby };

struct Facts {
  Network network;
  std::vector<SshSession> sessions;
  std::vector<host::PciFunction> functions;                  // Ethernet's
  std::map<std::string, std::vector<Neighbour>> neighbours;  // in their IOMMU groups
  std::map<std::string, Eni> recorded;  // by address: those that the journal knows better
  std::string driver;                   // that they have, or had on the way; empty: none is recorded
  Json hugepages;                       // the journal's step; null: none
  hugepage::Pages pages;
  std::uint64_t available_mib = 0;  // memory
  unsigned gpus = 0;
  bool iommu = false;
  bool vfio = false, uio = false;   // there are such drivers
  bool vfio_without_iommu = false;  // VFIO has its unsafe mode
  bool systemd = false;
  std::string network_manager_folder, networkd_folder;  // where such a file is read; empty: not installed
  BootLoader boot_loader = BootLoader::unknown;
  std::optional<std::string> config_text;   // of the file at kConfigPath
  bool config_is_ours = false;              // and nobody has changed it since
  Result<config::Config> config = Error{};  // what it says; an error if it is wrong
  std::string program;                      // this one's path
  bool has_group = false;                   // the one that is asked about
};

inline const std::string kConfigPath = "/usr/local/tfabric/tools/config/tfabric.toml";

// `group`: whose being there is asked about.
Result<Facts> gather(Host& host, const Journal& journal, const std::string& group);

}  // namespace tfabric::setup
