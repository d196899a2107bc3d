// DPDK's ring device, whose two ends are one port, for tests. Unlike a loop of ours it is an ethdev, whose
// link can be taken away: rte_eth_dev_set_link_down().
#pragma once

#include <atomic>
#include <string>

namespace tfabric::nic {

// Returns arguments for PortConfig::device. Each call names another device.
inline std::string ring_device() {
  static std::atomic<unsigned> number{0};
  return "net_ring_test" + std::to_string(number.fetch_add(1));
}

}  // namespace tfabric::nic
