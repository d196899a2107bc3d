// Which frames of an interface a rail over AF_PACKET needs, in the two languages of the kernel: a classic BPF
// program (Documentation/networking/filter.rst of Linux), with which a socket gets these frames alone, and an
// eBPF program that keeps them from the kernel's own stack.
#pragma once

#include <linux/bpf.h>
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

// For tc's ingress, where sockets have had their copies: drops IP packets to the rail's addresses, and passes
// everything else on. The kernel would forward them, or answer, as if they had come to the wrong host.
[[nodiscard]] std::vector<bpf_insn> ingress_program(const PacketFilter& filter);

}  // namespace tfabric::nic
