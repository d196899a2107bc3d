// Where the headers of a frame are, as far as the emulator needs to know.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

namespace tfabric::wire {

inline constexpr std::uint8_t kTcp = 6, kUdp = 17;  // protocols

// Returns the length of the Ethernet header with its VLAN tags; nothing if the frame is too short.
[[nodiscard]] std::optional<std::size_t> ethernet_bytes(std::span<const std::byte> frame);

// An IP packet in a frame. Offsets count from the start of the frame; the whole packet is within the frame.
struct IpLayout {
  bool v4 = true;
  std::size_t ip = 0;       // the IP header
  std::size_t payload = 0;  // after the IP header; IPv6 extension headers count as payload
  std::size_t end = 0;      // of the packet; padding may follow
  std::uint8_t protocol = 0;
  bool fragment = false;  // IPv4: one of several
};
// Returns nothing if there is no IP packet, or a malformed one.
[[nodiscard]] std::optional<IpLayout> ip_layout(std::span<const std::byte> frame);

// Replaces a 16-bit word that an Internet checksum covers, and updates the checksum (RFC 1624, eqn. 3). A
// checksum that was wrong stays wrong.
void replace_word(std::span<std::byte> frame, std::size_t word, std::uint16_t value, std::size_t checksum);

}  // namespace tfabric::wire
