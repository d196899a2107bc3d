// Which congestion control a connection uses; see congestion_control.h.
#pragma once

#include <cstdint>

namespace tfabric::stack {

enum class CongestionAlgorithm : std::uint8_t {
  cubic,       // RFC 9438, with HyStart++ (RFC 9406): fair to others, for any path
  dctcp,       // RFC 8257: for networks that mark early; needs Options::ecn, and the same at the peer
  bottleneck,  // bottleneck.h, by a model of the path: for links that police each flow
};

}  // namespace tfabric::stack
