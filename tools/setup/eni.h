// The NICs that setup hands from the kernel to user space, here called ENIs as in clouds: what is recorded of
// each, and how the kernel's configuration of its interface is saved and restored.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "tools/setup/json.h"
#include "tools/setup/network.h"

namespace tfabric::setup {

// A NIC and its interface as they were under the kernel.
struct Eni {
  std::string address;  // of the PCI function
  std::string name, mac;
  std::string driver;  // the kernel's
  std::vector<std::string> addresses;
  std::string gateway, gateway6;
  std::uint32_t mtu = 0;
  std::uint32_t speed_mbps = 0;  // 0: its driver reports none
  int numa_node = -1;
};

[[nodiscard]] Json to_json(const Eni& eni);
[[nodiscard]] Eni eni_from(const Json& json);
// "0000:00:06.0 (eth1, 52:54:00:00:00:01, ena): 10.0.1.5/24, gateway 10.0.1.1, MTU 9001, NUMA node 0"
[[nodiscard]] std::string describe(const Eni& eni);

// Records what the kernel forgets about an interface when its driver is unbound: addresses, routes of all
// tables, MTU, administrative state, and the settings below /proc/sys/net. Routing rules are not recorded,
// since they outlive the interface; nor is what ethtool and tc have set.
[[nodiscard]] Json record_interface(const Host& host, const Network& network, const std::string& name);
// Applies a record to an interface, whose name may have changed. What is already configured is no error. Goes
// on after a failure; the error lists all of them.
Status restore_interface(Host& host, const Json& record, const std::string& name);

}  // namespace tfabric::setup
