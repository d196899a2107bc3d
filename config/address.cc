#include "config/address.h"

#include <arpa/inet.h>

#include <algorithm>
#include <cstddef>
#include <iterator>

#include "config/value.h"

namespace tfabric::config {
namespace {

// The prefix of IPv4 addresses that are mapped into IPv6.
constexpr unsigned kMappedBits = 96;

}  // namespace

std::vector<std::uint8_t> address_bytes(const std::string& text, int family) {
  std::vector<std::uint8_t> bytes(family == AF_INET ? 4 : 16);
  // inet_pton() would stop at a NUL and accept the text before it.
  const bool good =
      text.find('\0') == std::string::npos && inet_pton(family, text.c_str(), bytes.data()) == 1;
  return good ? bytes : std::vector<std::uint8_t>();
}

std::vector<std::uint8_t> address_bytes(const std::string& text) {
  auto v4 = address_bytes(text, AF_INET);
  return v4.empty() ? address_bytes(text, AF_INET6) : v4;
}

bool same_prefix(std::span<const std::uint8_t> a, std::span<const std::uint8_t> b, unsigned bits) {
  const std::size_t whole = bits / 8;
  if (!std::equal(a.begin(), a.begin() + static_cast<std::ptrdiff_t>(whole), b.begin())) {
    return false;
  }
  const unsigned rest = bits % 8;
  return rest == 0 || (a[whole] ^ b[whole]) >> (8 - rest) == 0;
}

std::optional<PrefixedAddress> parse_prefixed(const std::string& text) {
  std::string_view rest = text;
  auto bytes = address_bytes(std::string(take_until(rest, '/')));
  const auto length = parse_integer(rest);
  if (bytes.empty() || !length || *length < 0 || *length > std::ssize(bytes) * 8) {
    return std::nullopt;
  }
  return PrefixedAddress{std::move(bytes), static_cast<unsigned>(*length)};
}

IpBytes mapped(std::span<const std::uint8_t> address) {
  IpBytes bytes{};
  if (address.size() == 4) {
    bytes[10] = bytes[11] = 0xff;
  }
  std::copy(address.rbegin(), address.rend(), bytes.rbegin());
  return bytes;
}

bool is_ipv4(const IpBytes& address) {
  constexpr IpBytes kMapped{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff};
  return same_prefix(address, kMapped, kMappedBits);
}

bool in_network(const PrefixedAddress& network, std::span<const std::uint8_t> address) {
  return network.bytes.size() == address.size() && same_prefix(network.bytes, address, network.length);
}

std::optional<AddressRange> AddressRange::parse(std::string_view text) {
  AddressRange range;
  range.text_ = trimmed(text);
  if (range.text_.empty()) {
    return range;
  }
  const auto prefixed = parse_prefixed(range.text_);
  if (!prefixed) {
    return std::nullopt;
  }
  const auto& [bytes, length] = *prefixed;
  range.first_ = mapped(bytes);
  range.bits_ = (bytes.size() == 4 ? kMappedBits : 0) + length;
  return range;
}

}  // namespace tfabric::config
