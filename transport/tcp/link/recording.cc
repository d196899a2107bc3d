#include "transport/tcp/link/recording.h"

#include <algorithm>

namespace tfabric::link {
namespace {

using observe::PacketOptions;
using observe::PacketRecord;
using observe::RecordKind;
using observe::RingPage;
using observe::RingWriter;

// RFC 2018 §3, aligned by two NOPs.
[[gnu::noinline]] void record_sack(RingWriter& ring, const RingPage& page, const stack::SegmentIn& segment) {
  constexpr std::byte kNop{1}, kSack{5};
  PacketOptions options;
  constexpr std::size_t kMost = (sizeof options.bytes - 4) / 8;
  const std::size_t count = std::min<std::size_t>(segment.sack_count, kMost);
  options.size = static_cast<std::uint16_t>(4 + 8 * count);
  options.bytes[0] = options.bytes[1] = kNop;
  options.bytes[2] = kSack;
  options.bytes[3] = static_cast<std::byte>(2 + 8 * count);
  for (std::size_t i = 0; i < count; ++i) {
    put_big_endian(&options.bytes[4 + 8 * i], segment.sack[i].left.raw());
    put_big_endian(&options.bytes[8 + 8 * i], segment.sack[i].right.raw());
  }
  ring.add<PacketOptions>(page, [&](PacketOptions& to) { to = options; });
}

PacketRecord packet_of(const stack::SegmentOut& segment, Instant now) {
  return {.time = in_nanoseconds(now),
          .seq = segment.seq.raw(),
          .ack = segment.ack.raw(),
          .ts_val = segment.ts_val,
          .ts_ecr = segment.ts_ecr,
          .length = segment.payload_size,
          .window = segment.window,
          .flags = segment.flags,
          .kind = segment.retransmission ? RecordKind::out_again : RecordKind::out};
}

// With other options than timestamps, which come first, or without any.
[[gnu::noinline]] void record_other(RingWriter& ring, const RingPage& page, const stack::SegmentOut& segment,
                                    Instant now) {
  PacketRecord packet = packet_of(segment, now);
  if (!segment.stamped) {
    packet.ts_val = packet.ts_ecr = 0;
  }
  ring.add<PacketRecord>(page, [&](PacketRecord& to) { to = packet; });
  const std::size_t from = segment.stamped ? stack::kTimestampsAlone : 0;
  if (segment.option_size > from) {
    PacketOptions options;
    options.size =
        static_cast<std::uint16_t>(std::min<std::size_t>(segment.option_size - from, sizeof options.bytes));
    std::copy_n(segment.options.begin() + static_cast<std::ptrdiff_t>(from), options.size,
                options.bytes.begin());
    ring.add<PacketOptions>(page, [&](PacketOptions& to) { to = options; });
  }
}

}  // namespace

void record(RingWriter& ring, const RingPage& page, const stack::SegmentIn& segment, Instant now) {
  ring.add<PacketRecord>(page, [&](PacketRecord& to) {
    to = {.time = in_nanoseconds(now),
          .seq = segment.seq.raw(),
          .ack = segment.ack.raw(),
          .ts_val = segment.ts_val,
          .ts_ecr = segment.ts_ecr,
          .length = segment.payload.size,
          .window = segment.window,
          .flags = segment.flags,
          .kind = RecordKind::in};
  });
  if (segment.sack_count > 0) {
    record_sack(ring, page, segment);
  }
}

void record(RingWriter& ring, const RingPage& page, const stack::SegmentOut& segment, Instant now) {
  if (segment.option_size != stack::kTimestampsAlone || !segment.stamped) {
    record_other(ring, page, segment, now);
    return;
  }
  ring.add<PacketRecord>(page, [&](PacketRecord& to) { to = packet_of(segment, now); });
}

}  // namespace tfabric::link
