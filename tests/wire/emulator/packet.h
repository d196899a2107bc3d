// What is done to the bytes of packets: marks of congestion, corruption, and answers to packets that are too
// big.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "base/random.h"

namespace tfabric::wire {

// Sets ECN's CE as a congested router does (RFC 3168 §5), if the packet is ECN-capable, and updates the IPv4
// header's checksum. Returns false if the packet is not capable, is marked already, or is not IP.
bool mark_congestion(std::span<std::byte> frame);

// Flips one to three bits of a 16-bit word that a checksum covers: that of TCP, UDP or ICMP, else that of the
// IPv4 header, else any word after the Ethernet header. So few bits of one word always change its ones'
// complement sum. Returns false if the frame has no such word.
bool corrupt(std::span<std::byte> frame, SeededRandom& random);

// Flips bits of a TCP payload and updates the checksum, so that only the application can detect it. Returns
// false unless the frame is a TCP segment with at least two bytes of payload.
bool corrupt_valid(std::span<std::byte> frame, SeededRandom& random);

// Returns a frame with ICMP's "fragmentation needed" (RFC 792, RFC 1191 §4) or ICMPv6's "packet too big" (RFC
// 4443 §3.2) for the sender of `frame`. Its source is the packet's destination, since the wire has no address
// of its own. Empty if no answer is allowed: fragmentation is permitted, the packet is an ICMP error, it is
// for a group, or it is not IP.
[[nodiscard]] std::vector<std::byte> too_big_answer(std::span<const std::byte> frame, std::uint32_t mtu);

}  // namespace tfabric::wire
