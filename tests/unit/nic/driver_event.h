// Events of a port, as its driver would report them.
#pragma once

#include <rte_ethdev.h>

#include <catch2/catch.hpp>
#include <string>

// DPDK's interface for drivers, whose header is not installed with the library.
struct rte_eth_dev;
extern "C" rte_eth_dev* rte_eth_dev_allocated(const char* name);
extern "C" int rte_eth_dev_callback_process(rte_eth_dev* device, rte_eth_event_type event, void* result);

namespace tfabric::nic {

// Drivers do this on DPDK's interrupt thread; callbacks do not see a difference.
inline void report(const std::string& device, rte_eth_event_type event) {
  rte_eth_dev* found = rte_eth_dev_allocated(device.c_str());
  REQUIRE(found != nullptr);
  rte_eth_dev_callback_process(found, event, nullptr);
}

}  // namespace tfabric::nic
