#include "tests/packetdrill/segmentation.h"

#include <algorithm>

namespace tfabric::drill {
namespace {

bool is_new_data(const stack::SegmentOut& segment) {
  return segment.payload_size > 0 && !segment.retransmission;
}

Seq end_of(const stack::SegmentOut& segment) { return segment.seq + segment.payload_size; }

}  // namespace

const Segmentation::Packet* Segmentation::packet_of(const stack::SegmentOut& segment) const {
  const auto found = std::find_if(packets_.begin(), packets_.end(), [&segment](const Packet& packet) {
    return segment.payload_size > 0 && packet.begin <= segment.seq && end_of(segment) <= packet.end;
  });
  return found == packets_.end() ? nullptr : &*found;
}

void Segmentation::set_push_flags(std::span<stack::SegmentOut> segments, std::uint32_t chunk) {
  std::uint32_t run = 0;
  for (std::size_t i = 0; i < segments.size(); ++i) {
    stack::SegmentOut& segment = segments[i];
    if (!is_new_data(segment)) {
      run = 0;
      const Packet* packet = packet_of(segment);
      if (packet != nullptr && i > 0 && packet_of(segments[i - 1]) == packet &&
          end_of(segment) == packet->end) {
        segment.flags |= stack::flag::psh;
      }
      continue;
    }
    ++run;
    const bool last = i + 1 == segments.size() || !is_new_data(segments[i + 1]);
    if (run >= chunk || last) {
      if (run >= 2) {
        segment.flags |= stack::flag::psh;
        packets_.push_back({segments[i + 1 - run].seq, end_of(segment)});
      }
      run = 0;
    }
  }
}

}  // namespace tfabric::drill
