// An interface of the kernel's, through sockets of AF_PACKET (packet(7)): all that a container without a NIC
// of its own has.
//
// Segments of up to 64 KiB go in and out whole, with the headers of packet_batch.h. Going out, they are cut
// and their checksums computed by the NIC if it can, else by the kernel, and between two containers by none
// at all; coming in, what the kernel has joined is not taken apart. So a system call and a copy move 64 KiB.
// No ring is shared with the kernel: the one for sending is used again while a packet is still under way on a
// veth, and the one for receiving either has slots of 64 KiB for packets of any size (TPACKET_V2), or hands
// packets over after a time-out of milliseconds (TPACKET_V3).
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "transport/tcp/nic/packet_filter.h"
#include "transport/tcp/nic/packet_pipe.h"

namespace tfabric::nic {

struct PacketSocketConfig {
  std::string interface;
  std::uint16_t mtu = 1500;
  // What a rail takes. While its sockets are open the kernel's own stack does not see that, where it can be
  // kept from it: since Linux 6.6, with the capabilities NET_ADMIN and BPF. None: all frames as they are on a
  // wire, for a switch; checksums and segments must be complete then, both ways.
  std::optional<PacketFilter> filter;
};

// Opens a socket for each of `queues`, over which the kernel spreads packets by a hash of their addresses and
// ports. Errc::unusable, with the reason.
[[nodiscard]] Result<std::vector<std::shared_ptr<PacketPipe>>> open_packet_sockets(
    const PacketSocketConfig& config, std::uint16_t queues = 1);

}  // namespace tfabric::nic
