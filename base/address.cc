#include "base/address.h"

#include <arpa/inet.h>
#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <charconv>
#include <cstdio>
#include <cstring>

namespace tfabric::net {
namespace {
constexpr int kV4Offset = 96;  // bits before the IPv4 address in an IPv4-mapped one
}

IpAddress IpAddress::v4(std::array<std::uint8_t, 4> octets) {
  IpAddress address;
  address.bytes[10] = address.bytes[11] = std::byte{0xff};
  std::transform(octets.begin(), octets.end(), address.bytes.begin() + 12,
                 [](auto o) { return std::byte{o}; });
  return address;
}

bool IpAddress::is_link_local() const {
  return is_v4() ? bytes[12] == std::byte{169} && bytes[13] == std::byte{254}
                 : bytes[0] == std::byte{0xfe} && (bytes[1] & std::byte{0xc0}) == std::byte{0x80};
}

bool Prefix::contains(const IpAddress& other) const {
  if (address.is_v4() != other.is_v4()) {
    return false;
  }
  const int bits = length + (address.is_v4() ? kV4Offset : 0);
  const auto whole = static_cast<std::size_t>(bits / 8);
  if (!std::equal(address.bytes.begin(), address.bytes.begin() + static_cast<std::ptrdiff_t>(whole),
                  other.bytes.begin())) {
    return false;
  }
  const auto mask = static_cast<std::byte>(0xff00u >> (bits % 8));
  return bits % 8 == 0 || (address.bytes[whole] & mask) == (other.bytes[whole] & mask);
}

std::optional<MacAddress> parse_mac(std::string_view text) {
  MacAddress mac;
  if (text.size() != 17) {
    return std::nullopt;
  }
  for (std::size_t i = 0; i < 6; ++i) {
    const char* at = text.data() + 3 * i;
    const auto [end, error] = std::from_chars(at, at + 2, mac.bytes[i], 16);
    if (error != std::errc() || end != at + 2 || (i < 5 && at[2] != ':')) {
      return std::nullopt;
    }
  }
  return mac;
}

std::optional<IpAddress> parse_ip(std::string_view text) {
  const std::string terminated(text);
  if (terminated.find('\0') != std::string::npos) {
    return std::nullopt;  // inet_pton would accept the part before it
  }
  std::array<std::uint8_t, 4> octets;
  if (inet_pton(AF_INET, terminated.c_str(), octets.data()) == 1) {
    return IpAddress::v4(octets);
  }
  IpAddress address;
  if (inet_pton(AF_INET6, terminated.c_str(), address.bytes.data()) == 1) {
    return address;
  }
  return std::nullopt;
}

std::optional<Prefix> parse_prefix(std::string_view text) {
  const std::size_t slash = text.find('/');
  if (slash == std::string_view::npos) {
    return std::nullopt;
  }
  const auto address = parse_ip(text.substr(0, slash));
  const std::string_view digits = text.substr(slash + 1);
  int length = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), length);
  if (!address || error != std::errc() || end != digits.data() + digits.size() || length < 0 ||
      length > (address->is_v4() ? 32 : 128)) {
    return std::nullopt;
  }
  return Prefix{*address, length};
}

std::string to_string(const MacAddress& address) {
  return fmt::format("{:02x}", fmt::join(address.bytes, ":"));
}

std::string to_string(const IpAddress& address) {
  std::array<char, INET6_ADDRSTRLEN> text;
  const bool v4 = address.is_v4();
  inet_ntop(v4 ? AF_INET : AF_INET6, address.bytes.data() + (v4 ? 12 : 0), text.data(), text.size());
  return text.data();
}

std::string to_string(const Prefix& prefix) {
  return fmt::format("{}/{}", to_string(prefix.address), prefix.length);
}

std::string to_string(const IpAddress& address, std::uint16_t port) {
  const std::string text = to_string(address);
  return address.is_v4() ? fmt::format("{}:{}", text, port) : fmt::format("[{}]:{}", text, port);
}

IpAddress from_octets(const std::array<std::uint8_t, 16>& octets) { return std::bit_cast<IpAddress>(octets); }

std::array<std::uint8_t, 16> octets_of(const IpAddress& address) {
  return std::bit_cast<std::array<std::uint8_t, 16>>(address);
}

}  // namespace tfabric::net
