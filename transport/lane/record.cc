#include "transport/lane/record.h"

#include <algorithm>
#include <bit>
#include <cassert>

#include "base/little_endian.h"
#include "base/wire_codec.h"
#include "transport/engine/byte_stream.h"

namespace tfabric::lane {
namespace {

constexpr std::size_t kCheckAt = 2;

bool lay_out(auto&& wire, WireMessage<RecordHeader> auto& header, std::uint16_t& check) {
  wire.u8(header.type).u8(header.index.value).u16(check).u32(header.tag).u32(header.group.value);
  return wire.u32(header.length).u32(header.total).u32(header.offset).ok();
}

// Mixes all fields except the check itself into 16 bits, from the bytes: words of several fields each.
std::uint16_t check_of(const std::byte* header) {
  constexpr std::uint64_t kMultiplier = 0x9e3779b97f4a7c15u;
  std::uint64_t sum = (get_little_endian<std::uint16_t>(header) + 1u) * kMultiplier;
  sum = (std::rotl(sum, 29) ^ get_little_endian<std::uint64_t>(header + 4)) * kMultiplier;
  sum = (std::rotl(sum, 29) ^ get_little_endian<std::uint64_t>(header + 12)) * kMultiplier;
  sum = (std::rotl(sum, 29) ^ get_little_endian<std::uint32_t>(header + 20)) * kMultiplier;
  return static_cast<std::uint16_t>(sum >> 48);
}

bool fields_fit(const RecordHeader& header) {
  if (header.type == RecordType::piece) {
    return std::uint64_t{header.offset} + header.length <= header.total;
  }
  const auto type = static_cast<std::uint8_t>(header.type);
  return type != 0 && type <= kLastRecordType && header.length <= kMaxControlBytes;
}

}  // namespace

RecordHeaderBytes encode(const RecordHeader& header) {
  RecordHeaderBytes bytes;
  std::uint16_t check = 0;
  lay_out(WireWriter(bytes), header, check);
  put_little_endian(&bytes[kCheckAt], check_of(bytes.data()));
  return bytes;
}

std::optional<RecordHeader> decode(std::span<const std::byte, kRecordHeaderBytes> bytes) {
  RecordHeader header;
  std::uint16_t check = 0;
  lay_out(WireReader(bytes), header, check);
  return check == check_of(bytes.data()) && fields_fit(header) ? std::optional(header) : std::nullopt;
}

std::vector<std::byte> encode_record(RecordType type, std::span<const std::byte> body,
                                     stripe::GroupId group) {
  const auto header =
      encode({.type = type, .group = group, .length = static_cast<std::uint32_t>(body.size())});
  std::vector<std::byte> record(header.begin(), header.end());
  record.insert(record.end(), body.begin(), body.end());
  return record;
}

std::vector<std::byte> encode_serial(RecordType type, stripe::LaneSerial serial) {
  std::array<std::byte, sizeof serial.value> body;
  WireWriter(body).u32(serial.value);
  return encode_record(type, body);
}

std::vector<std::byte> encode_position(RecordType type, const stripe::Graves::Grave& grave) {
  std::array<std::byte, kPositionRecordBytes - kRecordHeaderBytes> body;
  WireWriter(body).u32(grave.serial.value).unused(4).u64(grave.position);
  return encode_record(type, body);
}

std::optional<stripe::LaneSerial> decode_serial(std::span<const std::byte> body) {
  stripe::LaneSerial serial;
  return WireReader(body).u32(serial.value).done() ? std::optional(serial) : std::nullopt;
}

std::optional<stripe::Graves::Grave> decode_position(std::span<const std::byte> body) {
  stripe::Graves::Grave grave;
  const bool whole = WireReader(body).u32(grave.serial.value).unused(4).u64(grave.position).done();
  return whole ? std::optional(grave) : std::nullopt;
}

bool send_record(engine::ByteStream& stream, std::span<const std::byte> record) {
  constexpr std::size_t kRange = engine::ByteStream::kInlineBytes;
  const auto ranges = static_cast<std::uint32_t>((record.size() + kRange - 1) / kRange);
  if (!stream.can_send_ranges(ranges) || stream.send_room() < record.size()) {
    return false;
  }
  while (!record.empty()) {
    const std::size_t n = std::min(record.size(), kRange);
    const bool sent = stream.send_inline(record.first(n));
    assert(sent);
    static_cast<void>(sent);
    record = record.subspan(n);
  }
  return true;
}

}  // namespace tfabric::lane
