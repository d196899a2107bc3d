// Which frames a NIC's own filters let pass, besides those for its address: more, while a socket of AF_PACKET
// is open (packet(7): PACKET_ADD_MEMBERSHIP), unlike an interface's flags, which stay.
#pragma once

#include <linux/if_packet.h>
#include <sys/socket.h>

#include "base/descriptor.h"

namespace tfabric::nic {

// `kind`: PACKET_MR_ALLMULTI, all multicast; or PACKET_MR_PROMISC, everything. Returns false, with errno, if
// the kernel refuses.
inline bool let_pass(const Descriptor& socket, int interface, unsigned short kind) {
  packet_mreq request{};
  request.mr_ifindex = interface;
  request.mr_type = kind;
  return setsockopt(socket.get(), SOL_PACKET, PACKET_ADD_MEMBERSHIP, &request, sizeof request) == 0;
}

}  // namespace tfabric::nic
