#include "tests/wire/emulator/packet.h"

#include <algorithm>
#include <cstring>

#include "tests/wire/emulator/layout.h"
#include "transport/tcp/net/checksum.h"
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

// Returns one to three bits of 16.
std::uint16_t some_bits(SeededRandom& random) {
  std::uint16_t bits = 0;
  for (std::uint64_t i = random.between(1, 3); i > 0; --i) {
    bits = static_cast<std::uint16_t>(bits | 1u << random.between(0, 15));
  }
  return bits;
}

constexpr std::size_t kIcmpHeaderBytes = 8;
constexpr std::size_t kLargestV4 = 576;   // RFC 1812 §4.3.2.3
constexpr std::size_t kLargestV6 = 1280;  // RFC 4443 §3.2

bool deserves_v4(std::span<const std::byte> frame, const IpLayout& layout) {
  const std::byte* ip = &frame[layout.ip];
  constexpr unsigned kDontFragment = 0x4000;
  constexpr unsigned kEchoReply = 0, kEcho = 8;
  if ((net::get16(ip + 6) & kDontFragment) == 0 || layout.fragment || net::get8(ip + 16) >= 0xe0) {
    return false;
  }
  // RFC 1122 §3.2.2: no error about an error.
  if (layout.protocol == net::kProtocolIcmp) {
    const unsigned type = layout.payload < layout.end ? net::get8(&frame[layout.payload]) : 3u;
    return type == kEchoReply || type == kEcho;
  }
  return true;
}

bool deserves_v6(std::span<const std::byte> frame, const IpLayout& layout) {
  if (net::get8(&frame[layout.ip + 24]) == 0xff) {
    return false;
  }
  constexpr unsigned kFirstInformational = 128;  // RFC 4443 §2.1
  return layout.protocol != net::kProtocolIcmpv6 ||
         (layout.payload < layout.end && net::get8(&frame[layout.payload]) >= kFirstInformational);
}

void fill_v4(std::byte* out, const std::byte* ip, std::span<const std::byte> quote, std::uint32_t mtu) {
  std::byte* icmp = out + net::kIpv4HeaderBytes;
  net::put8(out, 0x45);
  net::put16(out + 2, static_cast<unsigned>(net::kIpv4HeaderBytes + kIcmpHeaderBytes + quote.size()));
  net::put8(out + 8, net::kHopLimit);
  net::put8(out + 9, net::kProtocolIcmp);
  std::memcpy(out + 12, ip + 16, 4);
  std::memcpy(out + 16, ip + 12, 4);
  net::Checksum header;
  header.add({out, net::kIpv4HeaderBytes});
  header.store(out + 10);
  net::put8(icmp, 3);
  net::put8(icmp + 1, 4);
  net::put16(icmp + 6, mtu);
  std::memcpy(icmp + kIcmpHeaderBytes, quote.data(), quote.size());
  net::Checksum body;
  body.add({icmp, kIcmpHeaderBytes + quote.size()});
  body.store(icmp + 2);
}

void fill_v6(std::byte* out, const std::byte* ip, std::span<const std::byte> quote, std::uint32_t mtu) {
  std::byte* icmp = out + net::kIpv6HeaderBytes;
  const auto length = static_cast<std::uint32_t>(kIcmpHeaderBytes + quote.size());
  net::put8(out, 0x60);
  net::put16(out + 4, length);
  net::put8(out + 6, net::kProtocolIcmpv6);
  net::put8(out + 7, net::kHopLimit);
  const net::IpAddress source = net::v6_at(ip + 24), destination = net::v6_at(ip + 8);
  std::memcpy(out + 8, source.bytes.data(), 16);
  std::memcpy(out + 24, destination.bytes.data(), 16);
  net::put8(icmp, 2);
  net::put32(icmp + 4, mtu);
  std::memcpy(icmp + kIcmpHeaderBytes, quote.data(), quote.size());
  net::Checksum body;
  body.add_pseudo_header(source, destination, net::kProtocolIcmpv6, length);
  body.add({icmp, length});
  body.store(icmp + 2);
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

bool corrupt_valid(std::span<std::byte> frame, SeededRandom& random) {
  const auto layout = ip_layout(frame);
  if (!layout || layout->protocol != kTcp || layout->fragment ||
      layout->end < layout->payload + kTcpHeaderBytes) {
    return false;
  }
  constexpr std::size_t kDataOffset = 12, kChecksum = 16;
  // The header has whole 32-bit words, so the payload begins with a word of the sum.
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

std::vector<std::byte> too_big_answer(std::span<const std::byte> frame, std::uint32_t mtu) {
  const auto layout = ip_layout(frame);
  const bool group = !frame.empty() && (net::get8(frame.data()) & 1) != 0;
  if (!layout || group || !(layout->v4 ? deserves_v4(frame, *layout) : deserves_v6(frame, *layout))) {
    return {};
  }
  const std::size_t ip_bytes = layout->v4 ? net::kIpv4HeaderBytes : net::kIpv6HeaderBytes;
  const std::size_t most = (layout->v4 ? kLargestV4 : kLargestV6) - ip_bytes - kIcmpHeaderBytes;
  const auto quote = frame.subspan(layout->ip, std::min(most, layout->end - layout->ip));
  std::vector<std::byte> answer(layout->ip + ip_bytes + kIcmpHeaderBytes + quote.size());
  std::memcpy(answer.data(), &frame[6], 6);
  std::memcpy(&answer[6], frame.data(), 6);
  std::memcpy(&answer[12], &frame[12], layout->ip - 12);
  (layout->v4 ? fill_v4 : fill_v6)(&answer[layout->ip], &frame[layout->ip], quote, mtu);
  return answer;
}

}  // namespace tfabric::wire
