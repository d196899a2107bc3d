// What travels on a flow's byte stream: records, each a fixed header followed by `length` bytes.
//
// A piece carries a part of a message, or all of it; records of the other types are control records, whose
// body the comm reads. All fields are little-endian. The header has a check of its own, which detects a
// stream that has lost its framing before the bytes are taken for an address to write to.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "transport/engine/turn.h"
#include "transport/stripe/burial.h"
#include "transport/stripe/inbox.h"
#include "transport/stripe/message.h"

namespace tfabric::engine {
class ByteStream;
}

namespace tfabric::lane {

enum class RecordType : std::uint8_t {
  hello = 1,     // connector to listener, first on each flow: which listener and which comm it is for
  welcome = 2,   // listener's answer to hello (session/hello.h)
  piece = 3,     // sender to receiver: part of a message
  announce = 4,  // receiver to sender: a group of receives is posted (only with max_recvs > 1)
  posted = 5,    // receiver to sender: all groups before this one are posted; only the newest counts
  bury = 6,      // sender to receiver: the lane with this serial is closed here, where does it end?
  buried = 7,    // receiver to sender: it is closed here, too, and this is its final position
  settled = 8,   // sender to receiver: nothing more is to be said about this lane; if it lives, it closes now
  goodbye = 9,   // either way: this end closes its comm, and nothing is outstanding
  ask = 10,      // either way: the process is to show that it runs, or to report this receive
  read = 11,     // either way: so much of the lane with this serial has been read; lanes of sockets only
  question = 12,  // either way: what do you wait for yourself? (transport/watchdog/inquiry.h)
  answer = 13,    // either way
  proof = 14,     // connector to listener, first after the welcome, which it answers
  // Of lanes that are opened by offers (lane/offers.h):
  rail = 15,    // receiver to sender: one of the rails over which it takes them
  offer = 16,   // sender to receiver: its end of a lane
  accept = 17,  // receiver to sender: its own end of it, which takes what comes
  ready = 18    // sender to receiver, on the lane itself: from here on it carries, both ways
};

// Control records of types up to this one that are not known are skipped: later builds may send them.
inline constexpr std::uint8_t kLastRecordType = 31;

inline constexpr std::size_t kRecordHeaderBytes = 24;
// The header of a large piece goes on with zeros. A kernel that copies a buffer which begins at a page puts
// its bytes right behind the header in a page of its own, and AMD's Zen 3 and 4 copy (`rep movsb`) at a tenth
// of their speed to where the destination lies 1 to 31 bytes behind the source modulo 4096.
inline constexpr std::size_t kLargePieceHeaderBytes = 64;
inline constexpr std::uint32_t kLargePiece = 1024;  // bytes, from which on the zeros are worth it
// Of a record with a position, header included.
inline constexpr std::size_t kPositionRecordBytes = kRecordHeaderBytes + 16;
// The largest body of a control record.
inline constexpr std::size_t kMaxControlBytes = 128;

struct RecordHeader {
  RecordType type = RecordType::piece;
  stripe::ReceiveIndex index;  // piece: which receive of the group
  std::uint32_t tag = 0;       // piece: the message's tag
  stripe::GroupId group;       // piece, announce, posted: the group of receives; ask: one that is waited for
  std::uint32_t length = 0;    // bytes that follow
  std::uint32_t total = 0;     // piece: size of the whole message
  std::uint32_t offset = 0;    // piece: where in the message its bytes belong
  friend bool operator==(const RecordHeader&, const RecordHeader&) = default;
};

// Returns how many bytes of the stream go before the record's own: the header, with its zeros.
[[nodiscard]] constexpr std::size_t header_bytes_of(const RecordHeader& header) {
  return header.type == RecordType::piece && header.length >= kLargePiece ? kLargePieceHeaderBytes
                                                                          : kRecordHeaderBytes;
}

// Without the zeros.
using RecordHeaderBytes = std::array<std::byte, kRecordHeaderBytes>;

[[nodiscard]] RecordHeaderBytes encode(const RecordHeader& header);
// Returns nothing if the bytes are no header of a known type, their check is wrong, a piece does not lie
// within its message, or a control record is too long.
[[nodiscard]] std::optional<RecordHeader> decode(std::span<const std::byte, kRecordHeaderBytes> bytes);

// Of a piece.
[[nodiscard]] inline stripe::Arrival arrival_of(const RecordHeader& header) {
  return {.group = header.group,
          .index = header.index,
          .tag = header.tag,
          .offset = header.offset,
          .length = header.length,
          .total = header.total};
}

// The bodies of bury, buried, settled and read. Their encode functions return whole records, header included;
// the decode functions read a body and return nothing if it is malformed.
[[nodiscard]] std::vector<std::byte> encode_record(RecordType type, std::span<const std::byte> body,
                                                   stripe::GroupId group = {});
[[nodiscard]] std::vector<std::byte> encode_serial(RecordType type, stripe::LaneSerial serial);
[[nodiscard]] std::vector<std::byte> encode_position(RecordType type, const stripe::Graves::Grave& grave);
[[nodiscard]] std::optional<stripe::LaneSerial> decode_serial(std::span<const std::byte> body);
[[nodiscard]] std::optional<stripe::Graves::Grave> decode_position(std::span<const std::byte> body);

// Of a goodbye.
[[nodiscard]] inline std::string_view text_of(std::span<const std::byte> body) {
  return {reinterpret_cast<const char*>(body.data()), body.size()};
}

// Copies a whole control record into the stream's send queue. Returns false, and queues nothing, if it
// does not fit.
bool send_record(engine::ByteStream& stream, std::span<const std::byte> record) TF_IN_TURN;

}  // namespace tfabric::lane
