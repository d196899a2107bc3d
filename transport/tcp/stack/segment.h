// A TCP segment as the machine receives and sends it, and the reading and writing of its header and options.
//
// IP and checksums are net/'s: it has verified the checksum of a segment that comes in, and writes the one of
// a segment that goes out.
#pragma once

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <span>
#include <string_view>

#include "base/big_endian.h"
#include "base/seq.h"
#include "base/time.h"
#include "transport/engine/byte_stream.h"

namespace tfabric::stack {

// RFC 9293 §3.1, RFC 3168 §6.1.
namespace flag {
inline constexpr std::uint8_t fin = 0x01, syn = 0x02, rst = 0x04, psh = 0x08, ack = 0x10, urg = 0x20,
                              ece = 0x40, cwr = 0x80;
}  // namespace flag

inline constexpr std::size_t kTcpHeaderBytes = 20;
inline constexpr std::size_t kTcpMaxOptionBytes = 40;
// As many as fit in 40 bytes of options (RFC 2018 §3).
inline constexpr std::size_t kMaxSackBlocks = 4;

struct SackBlock {
  Seq left;   // first sequence number of the block
  Seq right;  // the sequence number after its last one
  friend bool operator==(const SackBlock&, const SackBlock&) = default;
};

struct Ports {
  std::uint16_t local = 0;
  std::uint16_t remote = 0;
};

using engine::Payload;

// An incoming segment.
struct SegmentIn {
  SegmentIn();
  std::uint16_t source_port = 0;
  std::uint16_t destination_port = 0;
  Seq seq;
  Seq ack;
  std::uint32_t ts_val = 0;  // both 0 without timestamps
  std::uint32_t ts_ecr = 0;
  std::uint16_t window = 0;  // as on the wire, not scaled
  std::uint8_t flags = 0;
  std::uint8_t sack_count = 0;
  bool sack_permitted = false;
  bool has_timestamps = false;
  bool congestion_experienced = false;  // the IP header carried CE
  std::uint16_t mss = 0;                // 0: no option
  std::int8_t window_scale = -1;        // -1: no option
  std::array<SackBlock, kMaxSackBlocks> sack;
  Payload payload;
};
// Here, so that nothing is zeroed before: that takes longer than to read a header.
inline SegmentIn::SegmentIn() = default;

// Reads a TCP header and its options; payload.data points into `bytes`, payload.owner is null. Returns
// nothing if the header is malformed (lengths that do not fit, an option that runs over the end). Skips
// unknown options.
[[nodiscard]] std::optional<SegmentIn> parse_segment(std::span<const std::byte> bytes);

inline constexpr std::size_t kMaxPieces = 24;

// An outgoing segment: the header to write, and the payload in parts (pieces) of memory that must stay
// untouched until they are acknowledged.
struct SegmentOut {
  std::uint16_t source_port = 0;
  std::uint16_t destination_port = 0;
  Seq seq;
  Seq ack;
  std::uint32_t ts_val = 0;  // as the options have them, if `stamped`
  std::uint32_t ts_ecr = 0;
  std::uint8_t flags = 0;
  std::uint8_t option_size = 0;  // a multiple of 4
  std::uint8_t piece_count = 0;
  bool retransmission = false;
  bool stamped = false;      // the options begin with kTimestampsHead and these timestamps
  bool ecn_capable = false;  // the IP header has to carry ECT(0) (RFC 3168 §5)
  std::uint16_t window = 0;  // as on the wire
  // TSO: the payload of each segment that the driver has to cut this super-segment into. The segments have
  // the same header except for the sequence number; only the last one has FIN and PSH. 0: this is one
  // segment.
  std::uint16_t segment_size = 0;
  std::uint32_t payload_size = 0;
  std::array<std::byte, kTcpMaxOptionBytes> options;
  std::array<Payload, kMaxPieces> pieces;

  [[nodiscard]] std::size_t header_size() const { return kTcpHeaderBytes + option_size; }
};

// The flags of a part of a larger segment: FIN and PSH are only the last one's, CWR only the first one's
// (RFC 3168 §6.1.2).
[[nodiscard]] constexpr std::uint8_t flags_of_part(std::uint8_t whole, bool first, bool last) {
  return static_cast<std::uint8_t>(whole & ~(last ? 0u : flag::fin | flag::psh) & ~(first ? 0u : flag::cwr));
}

// Gives a reset the reason, of which kMaxReason bytes are used, as its payload; it must have none yet. The
// text must stay until the segment has been sent.
inline constexpr std::size_t kMaxReason = 160;
void put_reason(SegmentOut& reset, std::string_view reason);

// Writes header_size() bytes with a zero checksum field.
void write_header(const SegmentOut& segment, std::byte* out);

// --- options

// The options of nearly all segments: timestamps alone, as RFC 7323 appendix A lays them out, after two bytes
// that align them.
inline constexpr std::size_t kTimestampsAlone = 12;
inline constexpr std::uint32_t kTimestampsHead = 0x0101080a;

// The clock of the timestamps option. RFC 7323 §5.4 asks for 1 ms to 1 s a tick.
[[nodiscard]] inline std::uint32_t timestamp(Instant now) {
  return static_cast<std::uint32_t>(now.time_since_epoch() / std::chrono::milliseconds(1));
}

// Returns true if `a` is before `b` on a clock that wraps.
[[nodiscard]] constexpr bool timestamp_before(std::uint32_t a, std::uint32_t b) {
  return static_cast<std::int32_t>(a - b) < 0;
}

// RFC 9293 §3.7.1: the MSS of a peer that sends no option.
inline constexpr std::uint16_t kDefaultMss = 536;
// A smaller MSS is an attack on our packet rate, and leaves no room for payload beside 40 bytes of options.
inline constexpr std::uint16_t kLeastMss = 64;

// The window scale that a receive buffer needs (RFC 7323 §2.3).
[[nodiscard]] constexpr std::uint8_t window_scale_for(std::uint32_t buffer) {
  std::uint8_t scale = 0;
  while (scale < 14 && (buffer >> scale) > 65535) {
    ++scale;
  }
  return scale;
}

// The options of a SYN or a SYN-ACK (RFC 9293 §3.7.1, RFC 7323, RFC 2018).
struct SynOptions {
  std::uint16_t mss = 0;
  bool sack = false;
  bool timestamps = false;
  std::uint32_t ts_val = 0, ts_ecr = 0;
  int window_scale = -1;  // -1: no option
};

// Append an option, or a part of one, to a segment that leaves.
inline void put8(SegmentOut& out, unsigned value) {
  out.options[out.option_size++] = static_cast<std::byte>(value);
}
inline void put16(SegmentOut& out, unsigned value) {
  put_big_endian(&out.options[out.option_size], static_cast<std::uint16_t>(value));
  out.option_size = static_cast<std::uint8_t>(out.option_size + 2);
}
inline void put32(SegmentOut& out, std::uint32_t value) {
  put_big_endian(&out.options[out.option_size], value);
  out.option_size = static_cast<std::uint8_t>(out.option_size + 4);
}

// Writes the options of a SYN, aligned as in RFC 7323 appendix A. An option that is absent takes no room.
void put_syn_options(SegmentOut& out, const SynOptions& options);

}  // namespace tfabric::stack
