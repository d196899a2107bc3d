#include "tools/wire/emulator/too_big.h"

#include <algorithm>
#include <cstring>

#include "tools/wire/emulator/layout.h"
#include "transport/tcp/net/checksum.h"
#include "transport/tcp/net/wire.h"

namespace tfabric::wire {
namespace {

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
