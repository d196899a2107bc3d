// IP packets with TCP in them, as packetdrill hands them over: no Ethernet, no fragments, no IP options.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <vector>

#include "base/address.h"
#include "transport/tcp/stack/segment.h"

namespace tfabric::drill {

struct TcpPacket {
  net::IpAddress source, destination;
  stack::SegmentIn segment;  // its payload lies in the packet
};

// Empty for anything that is not well-formed TCP over IPv4 or IPv6.
[[nodiscard]] std::optional<TcpPacket> parse_packet(std::span<const std::byte> packet);

[[nodiscard]] std::vector<std::byte> build_packet(const net::IpAddress& source,
                                                  const net::IpAddress& destination,
                                                  const stack::SegmentOut& segment);

}  // namespace tfabric::drill
