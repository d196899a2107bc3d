// The last packets of each flow of a page (observe/ring.h), read from outside of the process.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/result.h"
#include "observe/facts.h"
#include "observe/ring.h"

namespace tfabric::observe {

struct RecordedPacket {
  PacketRecord record;
  std::vector<std::byte> options;  // but for the timestamps
};

struct RecordedFlow {
  std::uint64_t flow = 0;               // its id in the table of flows
  std::vector<RecordedPacket> packets;  // the oldest first
  std::uint64_t overwritten = 0;        // records before them, of packets and options
};

// Returns the flows that have a ring; none if the page has no such table. `file`: any open file.
[[nodiscard]] Result<std::vector<RecordedFlow>> read_rings(int file);

}  // namespace tfabric::observe
