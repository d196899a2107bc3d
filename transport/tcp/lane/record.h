// What travels on a flow's byte stream: records, each a fixed header and `length` bytes.
//
// A chunk carries a part of a message; the other types are control records whose body the comm reads.
// All fields are little-endian. The header's own check catches a stream that has lost its framing
// before it can be taken for an address to write to.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

namespace tfabric::lane {

enum class RecordType : std::uint8_t {
  hello = 1,    // connector to listener, first on each flow: who wants what
  welcome = 2,  // listener's answer to hello
  chunk = 3,    // sender to receiver: part of a message
  announce = 4  // receiver to sender: a group of receives is posted (only with max_recvs > 1)
};

inline constexpr std::size_t kRecordHeaderBytes = 24;
// The largest body of a control record.
inline constexpr std::size_t kMaxControlBytes = 128;

struct RecordHeader {
  RecordType type = RecordType::chunk;
  std::uint8_t index = 0;    // chunk: which receive of the group
  std::uint32_t tag = 0;     // chunk: the message's tag
  std::uint32_t group = 0;   // chunk, announce: number of the receive group on this comm
  std::uint32_t length = 0;  // bytes that follow
  std::uint32_t total = 0;   // chunk: size of the whole message
  std::uint32_t offset = 0;  // chunk: where in the message its bytes belong
  friend bool operator==(const RecordHeader&, const RecordHeader&) = default;
};

using RecordHeaderBytes = std::array<std::byte, kRecordHeaderBytes>;

[[nodiscard]] RecordHeaderBytes encode(const RecordHeader& header);
// Empty if the bytes are no header of a known type, their check is wrong, a chunk does not lie within its
// message, or a control record is too long.
[[nodiscard]] std::optional<RecordHeader> decode(std::span<const std::byte, kRecordHeaderBytes> bytes);

// Little-endian fields at an offset, for the bodies of control records too.
void put_u16(std::byte* at, std::uint16_t value);
void put_u32(std::byte* at, std::uint32_t value);
void put_u64(std::byte* at, std::uint64_t value);
[[nodiscard]] std::uint16_t get_u16(const std::byte* at);
[[nodiscard]] std::uint32_t get_u32(const std::byte* at);
[[nodiscard]] std::uint64_t get_u64(const std::byte* at);

}  // namespace tfabric::lane
