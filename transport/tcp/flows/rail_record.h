// What the comms of an engine have met with on one rail of ours, over all peers, since the engine began.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <utility>

#include "base/time.h"
#include "transport/tcp/flows/pace.h"

namespace tfabric::tcp {

struct RailLosses {
  std::uint64_t connections = 0;  // lost, or could not be made
  std::uint64_t bytes = 0;        // that these had not delivered, and that were sent again
  Duration longest{};             // that the paths to a peer had none

  RailLosses& operator+=(const RailLosses& other) {
    connections += other.connections;
    bytes += other.bytes;
    longest = std::max(longest, other.longest);
    return *this;
  }
};

struct RailRecord {
  explicit RailRecord(std::string rail) : paces(std::move(rail)) {}
  RailPaces paces;
  RailLosses losses;
};

}  // namespace tfabric::tcp
