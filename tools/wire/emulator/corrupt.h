// Bits flipped on the way: seen by checksums, or not.
#pragma once

#include <cstddef>
#include <span>

#include "base/random.h"

namespace tfabric::wire {

// Flips one to three bits of a 16-bit word that a checksum covers: a TCP, UDP or ICMP checksum, else that of
// the IPv4 header, else any word behind the Ethernet header. So few bits of one word change its ones'
// complement sum in any case. False: the frame has no such word.
bool corrupt(std::span<std::byte> frame, SeededRandom& random);

// Flips bits of a TCP payload and fixes the checksum, so that nothing but the application can tell. False: no
// TCP segment with at least two bytes of payload.
bool corrupt_valid(std::span<std::byte> frame, SeededRandom& random);

}  // namespace tfabric::wire
