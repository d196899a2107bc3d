// Which of a driver's offloads are taken. Each has a twin in software that does the same where there is none:
// checksums in net/, segments cut by the TCP machine.
//
// NICs, and virtio between memory and memory, do these for nothing; the other virtual devices would do them
// in software, no faster than we do.
#pragma once

#include <rte_ethdev.h>

#include <cstdint>
#include <string>

#include "transport/tcp/nic/port.h"

namespace tfabric::nic {

// The configuration of a port with this driver. `device`: PortConfig::device.
[[nodiscard]] rte_eth_conf choose_offloads(const std::string& device, const rte_eth_dev_info& info,
                                           std::uint16_t mtu);
// What the port can do, so configured.
[[nodiscard]] PortCapabilities capabilities_of(const std::string& device, const rte_eth_conf& conf,
                                               const rte_eth_dev_info& info);

}  // namespace tfabric::nic
