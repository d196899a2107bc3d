#include "tests/wire/emulator/layout.h"

#include "transport/tcp/net/wire.h"

namespace tfabric::wire {
namespace {

constexpr std::uint16_t kServiceTag = 0x88a8;  // IEEE 802.1Q: the outer tag of two
constexpr std::size_t kTagBytes = 4;
constexpr std::size_t kMacsBytes = 12;

std::optional<IpLayout> v4_layout(std::span<const std::byte> frame, std::size_t ip) {
  if (frame.size() < ip + net::kIpv4HeaderBytes) {
    return std::nullopt;
  }
  const std::byte* header = &frame[ip];
  const std::size_t header_bytes = std::size_t{net::get8(header) & 0xfu} * 4;
  const std::size_t total = net::get16(header + 2);
  if (net::get8(header) >> 4 != 4 || header_bytes < net::kIpv4HeaderBytes || total < header_bytes ||
      frame.size() < ip + total) {
    return std::nullopt;
  }
  constexpr unsigned kMoreAndOffset = 0x3fff;
  return IpLayout{.v4 = true,
                  .ip = ip,
                  .payload = ip + header_bytes,
                  .end = ip + total,
                  .protocol = net::get8(header + 9),
                  .fragment = (net::get16(header + 6) & kMoreAndOffset) != 0};
}

std::optional<IpLayout> v6_layout(std::span<const std::byte> frame, std::size_t ip) {
  if (frame.size() < ip + net::kIpv6HeaderBytes) {
    return std::nullopt;
  }
  const std::byte* header = &frame[ip];
  const std::size_t total = net::kIpv6HeaderBytes + net::get16(header + 4);
  if (net::get8(header) >> 4 != 6 || frame.size() < ip + total) {
    return std::nullopt;
  }
  return IpLayout{.v4 = false,
                  .ip = ip,
                  .payload = ip + net::kIpv6HeaderBytes,
                  .end = ip + total,
                  .protocol = net::get8(header + 6)};
}

}  // namespace

std::optional<std::size_t> ethernet_bytes(std::span<const std::byte> frame) {
  for (std::size_t type = kMacsBytes; frame.size() >= type + 2; type += kTagBytes) {
    const std::uint16_t value = net::get16(&frame[type]);
    if (value != net::kEtherTypeVlan && value != kServiceTag) {
      return type + 2;
    }
  }
  return std::nullopt;
}

std::optional<IpLayout> ip_layout(std::span<const std::byte> frame) {
  const auto ip = ethernet_bytes(frame);
  if (!ip) {
    return std::nullopt;
  }
  switch (net::get16(&frame[*ip - 2])) {
    case net::kEtherTypeIpv4:
      return v4_layout(frame, *ip);
    case net::kEtherTypeIpv6:
      return v6_layout(frame, *ip);
    default:
      return std::nullopt;
  }
}

void replace_word(std::span<std::byte> frame, std::size_t word, std::uint16_t value, std::size_t checksum) {
  const auto inverse = [](std::uint32_t x) { return ~x & 0xffffu; };
  std::uint32_t sum = inverse(net::get16(&frame[checksum])) + inverse(net::get16(&frame[word])) + value;
  sum = (sum >> 16) + (sum & 0xffff);
  sum = (sum >> 16) + (sum & 0xffff);
  net::put16(&frame[word], value);
  net::put16(&frame[checksum], inverse(sum));
}

}  // namespace tfabric::wire
