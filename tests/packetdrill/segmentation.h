// The PSH flags that Linux's segmentation offload sets, without which most scripts would fail over a hint.
//
// RFC 9293 §3.9.1.2 leaves PSH to the sender, but for the end of what is queued. Linux sets it on the last
// segment of each larger packet that it hands to a network card to cut up, and scripts expect it there. A
// packet that is sent again is the same packet, or what is left of it.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "transport/tcp/stack/segment.h"

namespace tfabric::drill {

class Segmentation {
 public:
  // `segments` leave the connection back to back. `chunk`: segments that Linux would put in one packet.
  void set_push_flags(std::span<stack::SegmentOut> segments, std::uint32_t chunk);

 private:
  struct Packet {
    Seq begin, end;
  };
  [[nodiscard]] const Packet* packet_of(const stack::SegmentOut& segment) const;

  std::vector<Packet> packets_;  // of two segments or more
};

}  // namespace tfabric::drill
