// Which rail, peer or way is slow, by comparison with its sisters: no speed is too low by itself.
//
// A *path* is a rail of a process toward an address. Its sisters are the other rails toward the same peer,
// and the other addresses over the same rail. It is slow if the network holds it back for half of the time
// that it has something to send, and it delivers less in that time than half of their median. If all that
// a rail does is slow, that is one finding; so is a peer toward which all is.
//
// Addresses belong to one peer if a comm has flows to them, or if a process that is given has rails with
// them. What is given of other hosts (Process::where) makes all rails of such a host one peer.
#pragma once

#include <string>
#include <vector>

#include "tools/stat/rates.h"

namespace tfabric::stat {

// Returns a sentence for each finding, none if all is alike. Of processes that were looked at once, or twice
// within less than half a second, nothing is known. What stands still is not slow: of a process that has
// found out itself why it waits, its verdict says more.
[[nodiscard]] std::vector<std::string> slow_of(const std::vector<Process>& processes);

}  // namespace tfabric::stat
