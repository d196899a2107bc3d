// The congestion windows of a page's connections, by path.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <utility>

#include "observe/reader.h"

namespace tfabric::stat {

// A rail, and the address of a peer.
using PathName = std::pair<std::string, std::string>;

// Returns bytes, summed over those connections that have a place on the page: no more than 8192 have.
[[nodiscard]] std::map<PathName, std::uint64_t> windows_of(const observe::Snapshot& page);

}  // namespace tfabric::stat
