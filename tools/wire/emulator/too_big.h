// What a router answers to a packet that the next link cannot carry.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace tfabric::wire {

// A frame with ICMP's "fragmentation needed" (RFC 792, RFC 1191 §4) or ICMPv6's "packet too big" (RFC 4443
// §3.2) for the sender of `frame`, in the name of the packet's destination: the wire has no address of its
// own. Empty: none is due (fragmentation is allowed, an ICMP error, a group's address, not IP).
[[nodiscard]] std::vector<std::byte> too_big_answer(std::span<const std::byte> frame, std::uint32_t mtu);

}  // namespace tfabric::wire
