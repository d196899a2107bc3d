#include "tools/wire/emulator/corrupt.h"

#include <cstdint>

#include "tools/wire/emulator/layout.h"
#include "transport/tcp/net/wire.h"

namespace tfabric::wire {
namespace {

constexpr std::uint8_t kTcp = 6, kUdp = 17;
constexpr std::size_t kTcpHeaderBytes = 20;

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

// One to three distinct bits of 16.
std::uint16_t some_bits(SeededRandom& random) {
  std::uint16_t bits = 0;
  for (std::uint64_t i = random.between(1, 3); i > 0; --i) {
    bits = static_cast<std::uint16_t>(bits | 1u << random.between(0, 15));
  }
  return bits;
}

}  // namespace

bool corrupt(std::span<std::byte> frame, SeededRandom& random) {
  const Range range = covered(frame);
  if (range.end < range.begin + 2) {
    return false;
  }
  const std::size_t word = range.begin + 2 * random.between(0, (range.end - range.begin) / 2 - 1);
  net::put16(&frame[word], net::get16(&frame[word]) ^ some_bits(random));
  return true;
}

bool corrupt_valid(std::span<std::byte> frame, SeededRandom& random) {
  const auto layout = ip_layout(frame);
  if (!layout || layout->protocol != kTcp || layout->fragment ||
      layout->end < layout->payload + kTcpHeaderBytes) {
    return false;
  }
  constexpr std::size_t kDataOffset = 12, kChecksum = 16;
  // The header is of whole 32-bit words, so the payload begins with a word of the sum.
  const std::size_t data =
      layout->payload + std::size_t{net::get8(&frame[layout->payload + kDataOffset])} / 16 * 4;
  if (data < layout->payload + kTcpHeaderBytes || layout->end < data + 2) {
    return false;
  }
  const std::size_t word = data + 2 * random.between(0, (layout->end - data) / 2 - 1);
  const auto value = static_cast<std::uint16_t>(net::get16(&frame[word]) ^ some_bits(random));
  replace_word(frame, word, value, layout->payload + kChecksum);
  return true;
}

}  // namespace tfabric::wire
