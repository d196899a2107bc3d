// A packet of the simulated network: a TCP segment and what its IP header would contain.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace tfabric::simulation {

using Bytes = std::vector<std::byte>;

// A host has one address in each rail.
struct Address {
  std::uint32_t host = 0;
  std::uint32_t rail = 0;
};

struct Packet {
  Bytes bytes;
  Address from, to;
  bool ecn_capable = false;             // ECT(0)
  bool congestion_experienced = false;  // CE
  bool damaged = false;                 // the checksum detects it
};

}  // namespace tfabric::simulation
