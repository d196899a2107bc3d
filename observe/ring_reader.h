// The last packets of each flow of a page (observe/ring.h), read from outside of the process.
#pragma once

#include <cstddef>
#include <cstdint>
#include <set>
#include <string>
#include <vector>

#include "base/result.h"
#include "observe/facts.h"
#include "observe/reader.h"
#include "observe/ring.h"

namespace tfabric::observe {

struct RecordedPacket {
  PacketRecord record;
  std::vector<std::byte> options;  // but for the timestamps
  std::uint64_t number = 0;        // among the flow's records since the beginning
};

struct RecordedFlow {
  std::uint64_t flow = 0;               // its id in the table of flows
  std::vector<RecordedPacket> packets;  // the oldest first
  std::uint64_t overwritten = 0;        // records before them, of packets and options
};

// A copy of a flow's ring (observe/keepsake.h).
struct ReadKeepsake : KeepsakeFacts {
  RecordedFlow recorded;
};

// Returns the flows that have a ring, or of these only those in `only`; none if the page has no such table.
// `file`: any open file.
[[nodiscard]] Result<std::vector<RecordedFlow>> read_rings(int file,
                                                           const std::set<std::uint64_t>* only = nullptr);
// Returns the keepsakes of a page, the oldest first.
[[nodiscard]] std::vector<ReadKeepsake> keepsakes_of(const Snapshot& page);

}  // namespace tfabric::observe
