// IP addresses, prefixes and ranges as text, and as 4 or 16 bytes in network byte order.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace tfabric::config {

// Returns an empty vector if `text` is not an address, or not one of `family` (AF_INET, AF_INET6).
[[nodiscard]] std::vector<std::uint8_t> address_bytes(const std::string& text);
[[nodiscard]] std::vector<std::uint8_t> address_bytes(const std::string& text, int family);

// IPv6, or IPv4 mapped into it (RFC 4291 §2.5.5.2), as in the GIDs of RDMA.
using IpBytes = std::array<std::uint8_t, 16>;
// `address` has 4 or 16 bytes.
[[nodiscard]] IpBytes mapped(std::span<const std::uint8_t> address);
[[nodiscard]] bool is_ipv4(const IpBytes& address);

// Returns true if the first `bits` bits of `a` and `b` are equal; neither is shorter than that.
[[nodiscard]] bool same_prefix(std::span<const std::uint8_t> a, std::span<const std::uint8_t> b,
                               unsigned bits);

// An address with the length of its network's prefix in bits, at most the length of the address.
struct PrefixedAddress {
  std::vector<std::uint8_t> bytes;
  unsigned length = 0;
};
// Returns nothing if `text` is not like "10.0.0.5/24" or "fd00::5/64".
[[nodiscard]] std::optional<PrefixedAddress> parse_prefixed(const std::string& text);
// Returns true if `address` has the family of `network` and lies in it.
[[nodiscard]] bool in_network(const PrefixedAddress& network, std::span<const std::uint8_t> address);

// A range of IP addresses: "10.0.0.0/8" or "fd00::/8". An empty text is the range of all addresses.
class AddressRange {
 public:
  // Returns nothing if `text` is not of this form.
  [[nodiscard]] static std::optional<AddressRange> parse(std::string_view text);

  [[nodiscard]] const std::string& text() const { return text_; }
  [[nodiscard]] bool contains(const IpBytes& address) const { return same_prefix(address, first_, bits_); }

 private:
  std::string text_;
  IpBytes first_{};
  unsigned bits_ = 0;
};

}  // namespace tfabric::config
