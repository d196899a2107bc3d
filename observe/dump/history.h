// What is known of a flow's packets: those of its ring, and those of its keepsakes before them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "observe/reader.h"
#include "observe/ring_reader.h"

namespace tfabric::dump {

struct History {
  std::string rail, local, peer;                 // as the page has them
  std::vector<observe::RecordedPacket> packets;  // each once, the oldest first
  std::uint64_t missing = 0;                     // records that were overwritten
  std::map<std::size_t, std::string> comments;   // by the place among the packets
};

// Of all flows whose ends are known: those that live, and those that are gone and left a keepsake. `rings`:
// of the flows that are wanted.
[[nodiscard]] std::vector<History> histories_of(const observe::Snapshot& page,
                                                const std::vector<observe::RecordedFlow>& rings);

// What the page says of the wait of a comm that goes on, as the log has it: "rank 7 ... [not-sending]".
[[nodiscard]] std::string wait_of(const observe::Snapshot& page, std::uint64_t comm);

}  // namespace tfabric::dump
