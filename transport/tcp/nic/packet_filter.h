// Which frames of an interface a rail over AF_PACKET needs, as a classic BPF program
// (Documentation/networking/filter.rst of Linux), with which a socket gets these frames alone. Unlike eBPF,
// it takes no capability beyond the socket's own.
#pragma once

#include <linux/filter.h>

#include <cstdint>
#include <vector>

#include "base/address.h"

namespace tfabric::nic {

struct PacketFilter {
  std::vector<net::IpAddress> addresses;  // the rail's own
  std::uint16_t vlan = 0;                 // 0: frames without a tag
};

// Passes what arrives with the filter's tag: ARP, and IP packets to the rail's addresses; of IPv6 also those
// to groups, by which neighbours and listeners are asked. Frames that this host sends are no part of it.
[[nodiscard]] std::vector<sock_filter> socket_filter(const PacketFilter& filter);

}  // namespace tfabric::nic
