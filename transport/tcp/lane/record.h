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

#include "transport/tcp/lane/message.h"

namespace tfabric::stack {
class Connection;
}

namespace tfabric::lane {

enum class RecordType : std::uint8_t {
  hello = 1,    // connector to listener, first on each flow: which listener and which comm it is for
  welcome = 2,  // listener's answer to hello
  piece = 3,    // sender to receiver: part of a message
  announce = 4  // receiver to sender: a group of receives is posted (only with max_recvs > 1)
};

inline constexpr std::size_t kRecordHeaderBytes = 24;
// The largest body of a control record.
inline constexpr std::size_t kMaxControlBytes = 128;

struct RecordHeader {
  RecordType type = RecordType::piece;
  ReceiveIndex index;        // piece: which receive of the group
  std::uint32_t tag = 0;     // piece: the message's tag
  GroupId group;             // piece, announce: the group of receives
  std::uint32_t length = 0;  // bytes that follow
  std::uint32_t total = 0;   // piece: size of the whole message
  std::uint32_t offset = 0;  // piece: where in the message its bytes belong
  friend bool operator==(const RecordHeader&, const RecordHeader&) = default;
};

using RecordHeaderBytes = std::array<std::byte, kRecordHeaderBytes>;

[[nodiscard]] RecordHeaderBytes encode(const RecordHeader& header);
// Returns nothing if the bytes are no header of a known type, their check is wrong, a piece does not lie
// within its message, or a control record is too long.
[[nodiscard]] std::optional<RecordHeader> decode(std::span<const std::byte, kRecordHeaderBytes> bytes);

// Copies a whole control record into the connection's send queue. Returns false, and queues nothing, if it
// does not fit.
bool send_record(stack::Connection& connection, std::span<const std::byte> record);

// Little-endian fields at an offset, for the bodies of control records too.
void put_u16(std::byte* at, std::uint16_t value);
void put_u32(std::byte* at, std::uint32_t value);
void put_u64(std::byte* at, std::uint64_t value);
[[nodiscard]] std::uint16_t get_u16(const std::byte* at);
[[nodiscard]] std::uint32_t get_u32(const std::byte* at);
[[nodiscard]] std::uint64_t get_u64(const std::byte* at);

}  // namespace tfabric::lane
