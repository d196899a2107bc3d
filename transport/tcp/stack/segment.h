// A TCP segment as the machine sees it, in and out, and the code that reads and writes its header.
//
// No IP, no checksums: net/ has verified the checksum of what comes in and writes that of what goes out.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "transport/tcp/stack/seq.h"

namespace tfabric::stack {

// RFC 9293 §3.1, RFC 3168 §6.1.
namespace flag {
inline constexpr std::uint8_t fin = 0x01, syn = 0x02, rst = 0x04, psh = 0x08, ack = 0x10, urg = 0x20,
                              ece = 0x40, cwr = 0x80;
}  // namespace flag

inline constexpr std::size_t kTcpHeaderBytes = 20;
inline constexpr std::size_t kTcpMaxOptionBytes = 40;
// What fits in 40 bytes of options (RFC 2018 §3).
inline constexpr std::size_t kMaxSackBlocks = 4;

struct SackBlock {
  Seq left;   // first sequence number of the block
  Seq right;  // the one after its last
  friend bool operator==(const SackBlock&, const SackBlock&) = default;
};

// Bytes that belong to somebody else, with the owner's mark. For incoming payload the owner is the packet
// buffer; the machine gives it back through PayloadOps. For outgoing ranges it is the registered memory.
struct Payload {
  const std::byte* data = nullptr;
  std::uint32_t size = 0;
  void* owner = nullptr;
};

// An incoming segment.
struct SegmentIn {
  std::uint16_t source_port = 0;
  std::uint16_t destination_port = 0;
  Seq seq;
  Seq ack;
  std::uint8_t flags = 0;
  std::uint8_t sack_count = 0;
  bool sack_permitted = false;
  bool has_timestamps = false;
  bool congestion_experienced = false;  // the IP header carried CE
  std::uint16_t window = 0;             // as on the wire, not scaled
  std::uint16_t mss = 0;                // 0: no option
  std::int8_t window_scale = -1;        // -1: no option
  std::uint32_t ts_val = 0;
  std::uint32_t ts_ecr = 0;
  std::array<SackBlock, kMaxSackBlocks> sack;
  Payload payload;
};

// Reads a TCP header and its options; payload.data points into `bytes`, payload.owner is null. Empty if
// the header is malformed (lengths that do not fit, an option that runs over the end). Unknown options
// are skipped.
[[nodiscard]] std::optional<SegmentIn> parse_segment(std::span<const std::byte> bytes);

inline constexpr std::size_t kMaxPieces = 24;

// An outgoing segment: the header to write, and the payload as pieces that must stay untouched until
// they are acknowledged.
struct SegmentOut {
  std::uint16_t source_port = 0;
  std::uint16_t destination_port = 0;
  Seq seq;
  Seq ack;
  std::uint8_t flags = 0;
  std::uint8_t option_size = 0;  // a multiple of 4
  std::uint8_t piece_count = 0;
  bool retransmission = false;
  bool ecn_capable = false;  // the IP header is to carry ECT(0) (RFC 3168 §5)
  std::uint16_t window = 0;  // as on the wire
  // TSO: a super-segment, to be cut into segments of so much payload, with the same header but for sequence
  // number, and FIN and PSH on the last alone. 0: it is one segment.
  std::uint16_t segment_size = 0;
  std::uint32_t payload_size = 0;
  std::array<std::byte, kTcpMaxOptionBytes> options;
  std::array<Payload, kMaxPieces> pieces;

  [[nodiscard]] std::size_t header_size() const { return kTcpHeaderBytes + option_size; }
};

// Writes header_size() bytes with a zero checksum field.
void write_header(const SegmentOut& segment, std::byte* out);

}  // namespace tfabric::stack
