// What the two SYNs of a connection agree on, and how it is written (RFC 9293 §3.7.1, 7323, 2018).
#pragma once

#include <cstdint>

#include "transport/tcp/stack/option_writer.h"
#include "transport/tcp/stack/segment.h"

namespace tfabric::stack {

// RFC 9293 §3.7.1: of a peer that does not say.
inline constexpr std::uint16_t kDefaultMss = 536;
// Less is an attack on our packet rate, and has no room for payload beside 40 bytes of options.
inline constexpr std::uint16_t kLeastMss = 64;

// The window scale that a receive buffer needs (RFC 7323 §2.3).
[[nodiscard]] constexpr std::uint8_t window_scale_for(std::uint32_t buffer) {
  std::uint8_t scale = 0;
  while (scale < 14 && (buffer >> scale) > 65535) {
    ++scale;
  }
  return scale;
}

// What a SYN or a SYN-ACK says.
struct SynOptions {
  std::uint16_t mss = 0;
  bool sack = false;
  bool timestamps = false;
  std::uint32_t ts_val = 0, ts_ecr = 0;
  int window_scale = -1;  // -1: no option
};

// Aligned as in RFC 7323 appendix A; an option that is not there takes no room.
inline void put_syn_options(SegmentOut& out, const SynOptions& options) {
  put8(out, 2);  // MSS (RFC 9293 §3.7.1)
  put8(out, 4);
  put16(out, options.mss);
  if (options.timestamps != options.sack) {
    put16(out, 0x0101);
  }
  if (options.sack) {
    put16(out, 0x0402);  // SACK permitted (RFC 2018 §2)
  }
  if (options.timestamps) {
    put16(out, 0x080a);  // timestamps (RFC 7323 §3.2)
    put32(out, options.ts_val);
    put32(out, options.ts_ecr);
  }
  if (options.window_scale >= 0) {
    put8(out, 1);
    put8(out, 3);  // window scale (RFC 7323 §2.2)
    put8(out, 3);
    put8(out, static_cast<unsigned>(options.window_scale));
  }
}

}  // namespace tfabric::stack
