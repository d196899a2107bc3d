#include "transport/tcp/stack/segment.h"

#include <algorithm>
#include <cstring>
#include <utility>

namespace tfabric::stack {
namespace {

// Option kinds: RFC 9293 §3.2, RFC 7323 §2.2 and §3.2, RFC 2018 §2 and §3.
constexpr std::uint8_t kEnd = 0, kNop = 1, kMss = 2, kWindowScale = 3, kSackPermitted = 4, kSack = 5,
                       kTimestamps = 8;
constexpr std::int8_t kMaxWindowScale = 14;  // RFC 7323 §2.3

std::uint8_t u8(const std::byte* at) { return std::to_integer<std::uint8_t>(*at); }

void read_sack(SegmentIn& segment, const std::byte* at, std::size_t length) {
  for (std::size_t i = 2; i + 8 <= length && segment.sack_count < kMaxSackBlocks; i += 8) {
    segment.sack[segment.sack_count++] = {Seq(get_big_endian<std::uint32_t>(at + i)),
                                          Seq(get_big_endian<std::uint32_t>(at + i + 4))};
  }
}

// One option with a length field; lengths other than the RFC's are skipped.
void read_option(SegmentIn& segment, std::uint8_t kind, const std::byte* at, std::size_t length) {
  switch (kind) {
    case kMss:
      if (length == 4) {
        segment.mss = get_big_endian<std::uint16_t>(at + 2);
      }
      break;
    case kWindowScale:
      if (length == 3) {
        const auto shift =
            static_cast<std::int8_t>(u8(at + 2) > kMaxWindowScale ? kMaxWindowScale : u8(at + 2));
        segment.window_scale = shift;
      }
      break;
    case kSackPermitted:
      segment.sack_permitted = length == 2;
      break;
    case kSack:
      read_sack(segment, at, length);
      break;
    case kTimestamps:
      if (length == 10) {
        segment.has_timestamps = true;
        segment.ts_val = get_big_endian<std::uint32_t>(at + 2);
        segment.ts_ecr = get_big_endian<std::uint32_t>(at + 6);
      }
      break;
    default:
      break;
  }
}

bool read_options(SegmentIn& segment, std::span<const std::byte> options) {
  if (options.size() == kTimestampsAlone &&
      get_big_endian<std::uint32_t>(options.data()) == kTimestampsHead) {
    segment.has_timestamps = true;
    segment.ts_val = get_big_endian<std::uint32_t>(&options[4]);
    segment.ts_ecr = get_big_endian<std::uint32_t>(&options[8]);
    return true;
  }
  for (std::size_t at = 0; at < options.size();) {
    const std::uint8_t kind = u8(&options[at]);
    if (kind == kEnd) {
      return true;
    }
    if (kind == kNop) {
      ++at;
      continue;
    }
    if (at + 1 >= options.size()) {
      return false;
    }
    const std::size_t length = u8(&options[at + 1]);
    if (length < 2 || at + length > options.size()) {
      return false;
    }
    read_option(segment, kind, &options[at], length);
    at += length;
  }
  return true;
}

}  // namespace

// All ways out return the one object, so that it is made where the caller wants it, and not copied there.
std::optional<SegmentIn> parse_segment(std::span<const std::byte> bytes) {
  std::optional<SegmentIn> read(std::in_place);
  SegmentIn& segment = *read;
  const std::byte* at = bytes.data();
  const std::size_t header =
      bytes.size() < kTcpHeaderBytes ? 0 : static_cast<std::size_t>(u8(at + 12) >> 4) * 4;
  if (header < kTcpHeaderBytes || header > bytes.size()) {
    read.reset();
    return read;
  }
  segment.source_port = get_big_endian<std::uint16_t>(at);
  segment.destination_port = get_big_endian<std::uint16_t>(at + 2);
  segment.seq = Seq(get_big_endian<std::uint32_t>(at + 4));
  segment.ack = Seq(get_big_endian<std::uint32_t>(at + 8));
  segment.flags = u8(at + 13);
  segment.window = get_big_endian<std::uint16_t>(at + 14);
  segment.payload = {at + header, static_cast<std::uint32_t>(bytes.size() - header), nullptr};
  if (!read_options(segment, bytes.subspan(kTcpHeaderBytes, header - kTcpHeaderBytes))) {
    read.reset();
  }
  return read;
}

void put_reason(SegmentOut& reset, std::string_view reason) {
  if (!reason.empty()) {
    reset.payload_size = static_cast<std::uint32_t>(std::min(reason.size(), kMaxReason));
    reset.pieces[0] = {reinterpret_cast<const std::byte*>(reason.data()), reset.payload_size, nullptr};
    reset.piece_count = 1;
  }
}

void write_header(const SegmentOut& segment, std::byte* out) {
  put_big_endian(out, segment.source_port);
  put_big_endian(out + 2, segment.destination_port);
  put_big_endian(out + 4, segment.seq.raw());
  put_big_endian(out + 8, segment.ack.raw());
  out[12] = static_cast<std::byte>(segment.header_size() / 4 << 4);
  out[13] = static_cast<std::byte>(segment.flags);
  put_big_endian(out + 14, segment.window);
  put_big_endian(out + 16, std::uint32_t{0});     // checksum, urgent pointer
  if (segment.option_size == kTimestampsAlone) {  // a copy of a size that the compiler knows
    std::memcpy(out + kTcpHeaderBytes, segment.options.data(), kTimestampsAlone);
  } else {
    std::memcpy(out + kTcpHeaderBytes, segment.options.data(), segment.option_size);
  }
}

void put_syn_options(SegmentOut& out, const SynOptions& options) {
  put8(out, 2);  // MSS (RFC 9293 §3.7.1)
  put8(out, 4);
  put16(out, options.mss);
  if (options.timestamps != options.sack) {
    put16(out, 0x0101);
  }
  if (options.sack) {
    put16(out, 0x0402);  // SACK permitted (RFC 2018 §2)
  }
  if (options.timestamps) {
    put16(out, 0x080a);  // timestamps (RFC 7323 §3.2)
    put32(out, options.ts_val);
    put32(out, options.ts_ecr);
  }
  if (options.window_scale >= 0) {
    put8(out, 1);
    put8(out, 3);  // window scale (RFC 7323 §2.2)
    put8(out, 3);
    put8(out, static_cast<unsigned>(options.window_scale));
  }
}

}  // namespace tfabric::stack
