// Writes TCP options into a segment that leaves (RFC 9293 §3.1, RFC 7323, RFC 2018).
#pragma once

#include <cstddef>
#include <cstdint>

#include "transport/tcp/stack/segment.h"

namespace tfabric::stack {

inline void put8(SegmentOut& out, unsigned value) {
  out.options[out.option_size++] = static_cast<std::byte>(value);
}
inline void put16(SegmentOut& out, unsigned value) {
  put8(out, value >> 8 & 0xff);
  put8(out, value & 0xff);
}
inline void put32(SegmentOut& out, std::uint32_t value) {
  put16(out, value >> 16);
  put16(out, value & 0xffff);
}

}  // namespace tfabric::stack
