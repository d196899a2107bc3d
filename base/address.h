// Ethernet and IP addresses as values, with their text forms.
#pragma once

#include <array>
#include <bit>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace tfabric::net {

struct MacAddress {
  std::array<std::uint8_t, 6> bytes{};
  [[nodiscard]] bool is_group() const { return (bytes[0] & 1) != 0; }  // broadcast or multicast
  friend auto operator<=>(const MacAddress&, const MacAddress&) = default;
};

// IPv4 addresses are kept as IPv4-mapped IPv6 (::ffff:a.b.c.d, RFC 4291 §2.5.5.2): one type everywhere.
struct IpAddress {
  std::array<std::byte, 16> bytes{};

  [[nodiscard]] static IpAddress v4(std::array<std::uint8_t, 4> octets);
  // These are asked of each packet, and so look at words.
  [[nodiscard]] bool is_v4() const { return word(0) == 0 && half(8) == kMappedPrefix; }
  [[nodiscard]] bool is_unspecified() const {
    return word(0) == 0 && half(12) == 0 && (half(8) == 0 || half(8) == kMappedPrefix);
  }
  [[nodiscard]] bool is_multicast() const {
    return is_v4() ? (bytes[12] & std::byte{0xf0}) == std::byte{0xe0} : bytes[0] == std::byte{0xff};
  }
  [[nodiscard]] bool is_link_local() const;
  // Addresses are compared for each packet; std::array's own operators compare byte by byte.
  friend std::strong_ordering operator<=>(const IpAddress& a, const IpAddress& b) {
    return std::memcmp(a.bytes.data(), b.bytes.data(), sizeof a.bytes) <=> 0;
  }
  friend bool operator==(const IpAddress& a, const IpAddress& b) {
    return std::memcmp(a.bytes.data(), b.bytes.data(), sizeof a.bytes) == 0;
  }

 private:
  // Bytes 8 to 11 of an IPv4-mapped address, in the host's byte order.
  static constexpr auto kMappedPrefix =
      std::bit_cast<std::uint32_t>(std::array<std::uint8_t, 4>{0, 0, 0xff, 0xff});

  [[nodiscard]] std::uint64_t word(std::size_t at) const {
    std::uint64_t value;
    std::memcpy(&value, &bytes[at], sizeof value);
    return value;
  }
  [[nodiscard]] std::uint32_t half(std::size_t at) const {
    std::uint32_t value;
    std::memcpy(&value, &bytes[at], sizeof value);
    return value;
  }
};

// An interface's own address and its network.
struct Prefix {
  IpAddress address;
  int length = 0;  // bits; for IPv4 0 ... 32
  [[nodiscard]] bool contains(const IpAddress& other) const;
};

// The same bytes as numbers, the form of the kernel's and RDMA's interfaces.
[[nodiscard]] IpAddress from_octets(const std::array<std::uint8_t, 16>& octets);
[[nodiscard]] std::array<std::uint8_t, 16> octets_of(const IpAddress& address);

[[nodiscard]] std::optional<MacAddress> parse_mac(std::string_view text);  // "02:00:00:00:00:01"
[[nodiscard]] std::optional<IpAddress> parse_ip(std::string_view text);    // "10.0.0.1", "fd00::1"
[[nodiscard]] std::optional<Prefix> parse_prefix(std::string_view text);   // "10.0.0.1/24"
[[nodiscard]] std::string to_string(const MacAddress& address);
[[nodiscard]] std::string to_string(const IpAddress& address);
[[nodiscard]] std::string to_string(const Prefix& prefix);
// "10.0.0.5:4000", "[fd00::5]:4000".
[[nodiscard]] std::string to_string(const IpAddress& address, std::uint16_t port);

}  // namespace tfabric::net
