#include "tools/wire/emulator/mark.h"

#include "tools/wire/emulator/layout.h"
#include "transport/tcp/net/wire.h"

namespace tfabric::wire {

bool mark_congestion(std::span<std::byte> frame) {
  const auto layout = ip_layout(frame);
  if (!layout) {
    return false;
  }
  // Version and traffic class are in the first word of both: IPv6 has four more bits before the latter.
  const std::uint16_t word = net::get16(&frame[layout->ip]);
  const unsigned shift = layout->v4 ? 0 : 4;
  constexpr unsigned kEcn = 3, kNotCapable = 0;
  const unsigned codepoint = word >> shift & kEcn;
  if (codepoint == kNotCapable || codepoint == kEcn) {
    return false;
  }
  const auto marked = static_cast<std::uint16_t>(word | kEcn << shift);
  constexpr std::size_t kIpv4Checksum = 10;
  if (layout->v4) {
    replace_word(frame, layout->ip, marked, layout->ip + kIpv4Checksum);
  } else {
    net::put16(&frame[layout->ip], marked);
  }
  return true;
}

}  // namespace tfabric::wire
