// What a lane has done since it began, for those who measure it.
#pragma once

#include <cstdint>

#include "base/time.h"

namespace tfabric::lane {

struct Meters {
  std::uint64_t delivered = 0;  // bytes that the peer has confirmed, each once
  // The same, or more where a kernel acknowledges for a process that has not read yet: what the network has
  // brought to the peer's host.
  std::uint64_t carried = 0;
  Duration busy{}, network_limited{};  // with something to send; the part when the network held it back
  Duration in_network{};  // bytes were on their way or waited for the network, and not for the peer
  Duration round_trip{}, least_round_trip{};  // the smoothed one, and the least; zero: not known
  std::uint32_t timeouts = 0;
  std::uint32_t path_mss = 0;  // if the path drops larger segments silently: the size that arrives; else 0
};

}  // namespace tfabric::lane
