// IP addresses as text, in network byte order: 4 or 16 bytes.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace tfabric::config {

// Empty: `text` is no address, or none of the family (AF_INET, AF_INET6).
[[nodiscard]] std::vector<std::uint8_t> address_bytes(const std::string& text);
[[nodiscard]] std::vector<std::uint8_t> address_bytes(const std::string& text, int family);

// IPv6, or IPv4 mapped into it (RFC 4291 §2.5.5.2), as RDMA's GIDs are.
using IpBytes = std::array<std::uint8_t, 16>;
// `address`: 4 or 16 bytes.
[[nodiscard]] IpBytes mapped(std::span<const std::uint8_t> address);

// Whether `a` and `b`, of which none is longer than the other, have the same first `bits` bits.
[[nodiscard]] bool same_prefix(std::span<const std::uint8_t> a, std::span<const std::uint8_t> b,
                               unsigned bits);

// An address with the length of a prefix, at most as long as it is.
struct PrefixedAddress {
  std::vector<std::uint8_t> bytes;
  unsigned length = 0;
};
// Empty if `text` is not like "10.0.0.5/24" or "fd00::5/64".
[[nodiscard]] std::optional<PrefixedAddress> parse_prefixed(const std::string& text);
// Whether `address` is of that family and network.
[[nodiscard]] bool in_network(const PrefixedAddress& network, std::span<const std::uint8_t> address);

}  // namespace tfabric::config
