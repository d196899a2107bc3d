// What is done to the bytes of packets: marks of congestion, and corruption.
#pragma once

#include <cstddef>
#include <span>

#include "base/random.h"

namespace tfabric::wire {

// Sets ECN's CE as a congested router does (RFC 3168 §5), if the packet is ECN-capable, and updates the IPv4
// header's checksum. Returns false if the packet is not capable, is marked already, or is not IP.
bool mark_congestion(std::span<std::byte> frame);

// Flips one to three bits of a 16-bit word that a checksum covers: that of TCP, UDP or ICMP, else that of the
// IPv4 header, else any word after the Ethernet header. So few bits of one word always change its ones'
// complement sum. Returns false if the frame has no such word.
bool corrupt(std::span<std::byte> frame, SeededRandom& random);

}  // namespace tfabric::wire
