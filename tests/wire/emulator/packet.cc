#include "tests/wire/emulator/packet.h"

#include "tests/wire/emulator/layout.h"
#include "transport/tcp/net/wire.h"

namespace tfabric::wire {
namespace {

struct Range {
  std::size_t begin = 0, end = 0;
};

bool has_checksum(std::uint8_t protocol) {
  return protocol == kTcp || protocol == kUdp || protocol == net::kProtocolIcmp ||
         protocol == net::kProtocolIcmpv6;
}

Range covered(std::span<const std::byte> frame) {
  const auto layout = ip_layout(frame);
  if (!layout) {
    return {ethernet_bytes(frame).value_or(frame.size()), frame.size()};
  }
  if (layout->v4 && (layout->fragment || !has_checksum(layout->protocol))) {
    return {layout->ip, layout->payload};
  }
  return {layout->payload, layout->end};
}

// Returns one to three bits of 16.
std::uint16_t some_bits(SeededRandom& random) {
  std::uint16_t bits = 0;
  for (std::uint64_t i = random.between(1, 3); i > 0; --i) {
    bits = static_cast<std::uint16_t>(bits | 1u << random.between(0, 15));
  }
  return bits;
}

}  // namespace

bool mark_congestion(std::span<std::byte> frame) {
  const auto layout = ip_layout(frame);
  if (!layout) {
    return false;
  }
  // Both versions have the ECN field in the first word; that of IPv6 is followed by four bits of the flow
  // label.
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

bool corrupt(std::span<std::byte> frame, SeededRandom& random) {
  const Range range = covered(frame);
  if (range.end < range.begin + 2) {
    return false;
  }
  const std::size_t word = range.begin + 2 * random.between(0, (range.end - range.begin) / 2 - 1);
  net::put16(&frame[word], net::get16(&frame[word]) ^ some_bits(random));
  return true;
}

}  // namespace tfabric::wire
