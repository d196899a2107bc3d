// ECN as a congested router does it (RFC 3168 §5).
#pragma once

#include <cstddef>
#include <span>

namespace tfabric::wire {

// Sets CE if the packet's sender understands it, and fixes the IPv4 header's checksum. False: the packet is
// not ECN-capable, or marked already, or no IP packet.
bool mark_congestion(std::span<std::byte> frame);

}  // namespace tfabric::wire
