// A box on the path that rewrites TCP options, as firewalls and load balancers do.
#pragma once

#include <cstdint>

#include "tests/simulation/packet.h"

namespace tfabric::simulation {

// Bits for the options that a box overwrites with NOPs.
namespace strip {
inline constexpr std::uint8_t sack = 1, timestamps = 2, window_scale = 4;
}  // namespace strip

struct MiddleboxOptions {
  std::uint8_t on_syn = 0;        // bits of `strip`
  std::uint8_t on_others = 0;     // on segments without SYN
  std::uint16_t largest_mss = 0;  // the MSS option is lowered to it; 0: left alone
};

// Rewrites `segment`, a TCP segment; one that is malformed passes as it is.
void pass_middlebox(const MiddleboxOptions& options, Bytes& segment);

}  // namespace tfabric::simulation
