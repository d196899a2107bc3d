// The files that setup writes: where they are, and their texts.
#pragma once

#include <string>
#include <vector>

#include "observe/kept_file.h"
#include "tools/setup/eni.h"

namespace tfabric::setup {

inline const std::string kConfigPath = "/usr/local/tfabric/tools/config/tfabric.toml";
inline constexpr auto kUnitPath = "/etc/systemd/system/tfabric-setup.service";
inline constexpr auto kUnitLinkPath = "/etc/systemd/system/multi-user.target.wants/tfabric-setup.service";
// The copy of this program that the unit runs, unless this one is installed.
inline constexpr auto kProgramCopy = "/usr/local/lib/tfabric/tfabric";
inline constexpr auto kUdevPath = "/etc/udev/rules.d/90-tfabric-setup.rules";
inline constexpr auto kLimitsPath = "/etc/security/limits.d/90-tfabric-setup.conf";
inline constexpr auto kGrubPath = "/etc/default/grub.d/90-tfabric-setup.cfg";
// A folder, not a file of setup's.
inline constexpr auto kPagesPath = observe::kPageFolder;

// tfabric's configuration, with one rail an ENI.
[[nodiscard]] std::string config_text(const std::vector<Eni>& enis);
// NetworkManager.conf(5) and systemd.network(5): both make the manager leave the ENIs alone, found by MAC.
[[nodiscard]] std::string network_manager_text(const std::vector<Eni>& enis);
[[nodiscard]] std::string networkd_text(const std::vector<Eni>& enis);
// systemd.service(5): runs `program` setup --boot before the network managers start.
[[nodiscard]] std::string unit_text(const std::string& program);
// udev(7): gives VFIO's files to the group. limits.conf(5): lets the group lock memory.
[[nodiscard]] std::string udev_text(const std::string& group);
[[nodiscard]] std::string limits_text(const std::string& group);
// For /etc/default/grub.d.
[[nodiscard]] std::string grub_text(const std::string& arguments);

}  // namespace tfabric::setup
