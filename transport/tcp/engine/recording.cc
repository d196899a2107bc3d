#include "transport/tcp/engine/recording.h"

#include <algorithm>
#include <cstring>

namespace tfabric::engine {
namespace {

using observe::PacketOptions;
using observe::PacketRecord;
using observe::RecordKind;

std::uint32_t read32(const std::byte* at) {
  std::uint32_t value = 0;
  std::memcpy(&value, at, sizeof value);
  return __builtin_bswap32(value);
}

// RFC 2018 §3, aligned by two NOPs.
[[gnu::noinline]] void record_sack(observe::RingWriter& ring, std::byte* page,
                                   const stack::SegmentIn& segment) {
  constexpr std::byte kNop{1}, kSack{5};
  auto& options = ring.next<PacketOptions>(page);
  options = {};
  constexpr std::size_t kMost = (sizeof options.bytes - 4) / 8;
  const std::size_t count = std::min<std::size_t>(segment.sack_count, kMost);
  options.size = static_cast<std::uint16_t>(4 + 8 * count);
  options.bytes[0] = options.bytes[1] = kNop;
  options.bytes[2] = kSack;
  options.bytes[3] = static_cast<std::byte>(2 + 8 * count);
  for (std::size_t i = 0; i < count; ++i) {
    stack::write32(&options.bytes[4 + 8 * i], segment.sack[i].left.raw());
    stack::write32(&options.bytes[8 + 8 * i], segment.sack[i].right.raw());
  }
  ring.done(page);
}

// All but the timestamps, which come first.
[[gnu::noinline]] void record_options(observe::RingWriter& ring, std::byte* page,
                                      const stack::SegmentOut& segment, std::size_t from) {
  auto& options = ring.next<PacketOptions>(page);
  options = {};
  options.size =
      static_cast<std::uint16_t>(std::min<std::size_t>(segment.option_size - from, sizeof options.bytes));
  std::copy_n(segment.options.begin() + static_cast<std::ptrdiff_t>(from), options.size,
              options.bytes.begin());
  ring.done(page);
}

}  // namespace

void record(observe::RingWriter& ring, std::byte* page, const stack::SegmentIn& segment, Instant now) {
  ring.next<PacketRecord>(page) = {.time = in_nanoseconds(now),
                                   .seq = segment.seq.raw(),
                                   .ack = segment.ack.raw(),
                                   .length = segment.payload.size,
                                   .ts_val = segment.has_timestamps ? segment.ts_val : 0,
                                   .ts_ecr = segment.has_timestamps ? segment.ts_ecr : 0,
                                   .window = segment.window,
                                   .flags = segment.flags,
                                   .kind = RecordKind::in};
  ring.done(page);
  if (segment.sack_count > 0) {
    record_sack(ring, page, segment);
  }
}

void record(observe::RingWriter& ring, std::byte* page, const stack::SegmentOut& segment, Instant now) {
  const bool stamped = segment.option_size >= stack::kTimestampsAlone &&
                       read32(segment.options.data()) == stack::kTimestampsHead;
  ring.next<PacketRecord>(page) = {.time = in_nanoseconds(now),
                                   .seq = segment.seq.raw(),
                                   .ack = segment.ack.raw(),
                                   .length = segment.payload_size,
                                   .ts_val = stamped ? read32(&segment.options[4]) : 0,
                                   .ts_ecr = stamped ? read32(&segment.options[8]) : 0,
                                   .window = segment.window,
                                   .flags = segment.flags,
                                   .kind = segment.retransmission ? RecordKind::out_again : RecordKind::out};
  ring.done(page);
  const std::size_t from = stamped ? stack::kTimestampsAlone : 0;
  if (segment.option_size > from) {
    record_options(ring, page, segment, from);
  }
}

}  // namespace tfabric::engine
