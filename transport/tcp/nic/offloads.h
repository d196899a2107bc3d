// Which of a driver's offloads are used. Where there is none, software does the same: checksums in net/,
// segments cut in link/, chains of buffers joined here.
//
// NICs, and virtio between memory and memory, do this at no cost; other virtual devices would do it in
// software, no faster than we do.
#pragma once

#include <rte_ethdev.h>
#include <rte_mbuf.h>

#include <cstdint>
#include <string>
#include <string_view>

#include "transport/tcp/nic/port.h"

namespace tfabric::nic {

// `driver`: rte_eth_dev_info::driver_name. The guest's end, PCI or vhost-user's.
[[nodiscard]] bool is_virtio(std::string_view driver);

// The configuration of a port of a driver. `device`: PortConfig::device.
[[nodiscard]] rte_eth_conf choose_offloads(const std::string& device, const rte_eth_dev_info& info,
                                           std::uint16_t mtu);
// What a port with that configuration can do.
[[nodiscard]] PortCapabilities capabilities_of(const std::string& device, const rte_eth_conf& conf,
                                               const rte_eth_dev_info& info);

// Copies a packet into one buffer from `pool`, with its offload flags, for drivers that take no chains.
// Returns null if no buffer is free, or none is large enough. The original is left as it is.
rte_mbuf* linearised_copy(const rte_mbuf& packet, rte_mempool* pool);

}  // namespace tfabric::nic
