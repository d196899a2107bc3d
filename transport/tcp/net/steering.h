// What a frame is for, told from its headers before anything is believed of it: by that, engines that share
// a NIC sort what comes in (engine/exchange.h). No checks, no state: who the frame belongs to does those.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace tfabric::net {

struct FrameUse {
  enum class Kind : std::uint8_t {
    tcp,    // a TCP segment for `port`
    news,   // what every engine has to hear: ARP, ICMP but for echo (neighbours, errors about segments)
    other,  // all else, malformed frames among it: whoever has it deals with it
  };
  Kind kind = Kind::other;
  std::uint16_t port = 0;  // tcp: the destination's
};

// `frame`: as it came, the beginning is enough. What Interface::input() would take for TCP is `tcp` here,
// with the same port.
[[nodiscard]] FrameUse use_of(std::span<const std::byte> frame);

}  // namespace tfabric::net
