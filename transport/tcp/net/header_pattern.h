// Header prediction for Ethernet and IP: the packets of a connection repeat their headers, except for
// lengths, checksums, identification, hop limit and marks. One whose headers are those of a packet that
// Interface::input() took for TCP needs no second look at them.
#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>

#include "transport/tcp/net/wire.h"

namespace tfabric::net {

// The headers of one form of packet, up to the ports: words of 8 bytes that cover them, and of each the bits
// that all packets of a connection have in common.
struct HeaderForm {
  static constexpr std::size_t kMostWords = 8;

  std::size_t bytes = 0;
  std::size_t words = 0;
  std::array<std::uint8_t, kMostWords> at{};
  std::array<std::uint64_t, kMostWords> mask{};

  // `changing`: of each byte, the bits that differ from packet to packet.
  template <std::size_t kBytes>
  [[nodiscard]] static constexpr HeaderForm make(const std::array<std::uint8_t, kBytes>& changing) {
    HeaderForm form{.bytes = kBytes, .words = (kBytes + 7) / 8};
    for (std::size_t i = 0; i < form.words; ++i) {
      // The last word ends where the headers do.
      form.at[i] = static_cast<std::uint8_t>(i + 1 < form.words ? 8 * i : kBytes - 8);
      std::array<std::uint8_t, 8> common{};
      for (std::size_t j = 0; j < 8; ++j) {
        common[j] = static_cast<std::uint8_t>(~changing[form.at[i] + j]);
      }
      form.mask[i] = std::bit_cast<std::uint64_t>(common);
    }
    return form;
  }
};

// RFC 791 §3.1, without options.
inline constexpr HeaderForm kIpv4Form = [] {
  constexpr std::size_t kIp = kEthernetHeaderBytes;
  std::array<std::uint8_t, kIp + kIpv4HeaderBytes + 4> changing{};
  changing[kIp + 1] = 0xff;                        // DSCP and ECN
  changing[kIp + 2] = changing[kIp + 3] = 0xff;    // total length
  changing[kIp + 4] = changing[kIp + 5] = 0xff;    // identification
  changing[kIp + 6] = 0xc0;                        // reserved, don't fragment
  changing[kIp + 8] = 0xff;                        // time to live
  changing[kIp + 10] = changing[kIp + 11] = 0xff;  // checksum
  return HeaderForm::make(changing);
}();

// RFC 8200 §3, without extension headers.
inline constexpr HeaderForm kIpv6Form = [] {
  constexpr std::size_t kIp = kEthernetHeaderBytes;
  std::array<std::uint8_t, kIp + kIpv6HeaderBytes + 4> changing{};
  changing[kIp] = 0x0f;                                              // traffic class
  changing[kIp + 1] = changing[kIp + 2] = changing[kIp + 3] = 0xff;  // and flow label
  changing[kIp + 4] = changing[kIp + 5] = 0xff;                      // payload length
  changing[kIp + 7] = 0xff;                                          // hop limit
  return HeaderForm::make(changing);
}();

class HeaderPattern {
 public:
  // Learns the headers of a frame that Interface::input() took for TCP. A frame of another form, with a VLAN
  // tag, IP options or extension headers, is not learned: nothing matches then.
  void learn(std::span<const std::byte> frame);
  void forget() { form_ = Form::none; }

  // Returns true if the frame repeats what was learned.
  [[nodiscard]] bool matches(std::span<const std::byte> frame) const {
    switch (form_) {
      case Form::v4:
        return repeats<kIpv4Form>(frame);
      case Form::v6:
        return repeats<kIpv6Form>(frame);
      case Form::none:
        break;
    }
    return false;
  }
  // Returns true if what was learned is IPv4.
  [[nodiscard]] bool v4() const { return form_ == Form::v4; }

 private:
  enum class Form : std::uint8_t { none, v4, v6 };

  [[nodiscard]] static std::uint64_t word_at(const std::byte* at) {
    std::uint64_t word;
    std::memcpy(&word, at, sizeof word);
    return word;
  }
  template <const HeaderForm& kForm>
  [[nodiscard]] bool repeats(std::span<const std::byte> frame) const {
    if (frame.size() < kForm.bytes) {
      return false;
    }
    std::uint64_t differences = 0;
    for (std::size_t i = 0; i < kForm.words; ++i) {
      const std::size_t at = kForm.at[i];
      differences |= (word_at(frame.data() + at) ^ word_at(learned_.data() + at)) & kForm.mask[i];
    }
    return differences == 0;
  }

  // One of these for each connection: no more than its bytes.
  std::array<std::byte, kIpv6Form.bytes> learned_{};
  Form form_ = Form::none;
};

// Mixes the ports of a frame of one of the forms above, whichever is the source's; of another frame,
// anything.
[[nodiscard]] inline std::uint16_t mixed_ports(std::span<const std::byte> frame) {
  const bool v6 = frame.size() >= kIpv6Form.bytes && get16(&frame[12]) == kEtherTypeIpv6;
  const std::size_t end = v6 ? kIpv6Form.bytes : kIpv4Form.bytes;
  return frame.size() < end ? std::uint16_t{0}
                            : static_cast<std::uint16_t>(get16(&frame[end - 4]) ^ get16(&frame[end - 2]));
}
[[nodiscard]] inline std::uint16_t mixed_ports(std::uint16_t source, std::uint16_t destination) {
  return source ^ destination;
}

}  // namespace tfabric::net
