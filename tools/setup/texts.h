// What setup writes into files.
#pragma once

#include <string>
#include <vector>

#include "tools/setup/eni.h"

namespace tfabric::setup {

// tfabric's configuration, with a rail for each.
[[nodiscard]] std::string config_text(const std::vector<Eni>& enis);
// NetworkManager.conf(5) and systemd.network(5): they leave these alone, known by their MACs.
[[nodiscard]] std::string network_manager_text(const std::vector<Eni>& enis);
[[nodiscard]] std::string networkd_text(const std::vector<Eni>& enis);
// systemd.service(5): runs `program` setup --boot before the network managers.
[[nodiscard]] std::string unit_text(const std::string& program);
// udev(7): VFIO's files are this group's. limits.conf(5): it may lock memory.
[[nodiscard]] std::string udev_text(const std::string& group);
[[nodiscard]] std::string limits_text(const std::string& group);
// For /etc/default/grub.d.
[[nodiscard]] std::string grub_text(const std::string& arguments);

}  // namespace tfabric::setup
