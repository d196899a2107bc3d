#include "transport/lane/record.h"

#include <algorithm>
#include <bit>
#include <cassert>

#include "base/little_endian.h"
#include "transport/engine/byte_stream.h"

namespace tfabric::lane {
namespace {

// Offsets in the header.
constexpr std::size_t kType = 0, kIndex = 1, kCheck = 2, kTag = 4, kGroup = 8, kLength = 12, kTotal = 16,
                      kOffset = 20;

// Mixes all fields except the check itself into 16 bits.
std::uint16_t check_of(const std::byte* header) {
  constexpr std::uint64_t kMultiplier = 0x9e3779b97f4a7c15u;
  std::uint64_t sum = (get_little_endian<std::uint16_t>(header) + 1u) * kMultiplier;
  sum = (std::rotl(sum, 29) ^ get_little_endian<std::uint64_t>(header + kTag)) * kMultiplier;
  sum = (std::rotl(sum, 29) ^ get_little_endian<std::uint64_t>(header + kLength)) * kMultiplier;
  sum = (std::rotl(sum, 29) ^ get_little_endian<std::uint32_t>(header + kOffset)) * kMultiplier;
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

void put_u16(std::byte* at, std::uint16_t value) { put_little_endian(at, value); }
void put_u32(std::byte* at, std::uint32_t value) { put_little_endian(at, value); }
void put_u64(std::byte* at, std::uint64_t value) { put_little_endian(at, value); }
std::uint16_t get_u16(const std::byte* at) { return get_little_endian<std::uint16_t>(at); }
std::uint32_t get_u32(const std::byte* at) { return get_little_endian<std::uint32_t>(at); }
std::uint64_t get_u64(const std::byte* at) { return get_little_endian<std::uint64_t>(at); }

RecordHeaderBytes encode(const RecordHeader& header) {
  RecordHeaderBytes bytes{};
  bytes[kType] = static_cast<std::byte>(header.type);
  bytes[kIndex] = static_cast<std::byte>(header.index.value);
  put_little_endian(&bytes[kTag], header.tag);
  put_little_endian(&bytes[kGroup], header.group.value);
  put_little_endian(&bytes[kLength], header.length);
  put_little_endian(&bytes[kTotal], header.total);
  put_little_endian(&bytes[kOffset], header.offset);
  put_little_endian(&bytes[kCheck], check_of(bytes.data()));
  return bytes;
}

std::optional<RecordHeader> decode(std::span<const std::byte, kRecordHeaderBytes> bytes) {
  if (get_little_endian<std::uint16_t>(&bytes[kCheck]) != check_of(bytes.data())) {
    return std::nullopt;
  }
  RecordHeader header;
  header.type = static_cast<RecordType>(bytes[kType]);
  header.index.value = std::to_integer<std::uint8_t>(bytes[kIndex]);
  header.tag = get_little_endian<std::uint32_t>(&bytes[kTag]);
  header.group.value = get_little_endian<std::uint32_t>(&bytes[kGroup]);
  header.length = get_little_endian<std::uint32_t>(&bytes[kLength]);
  header.total = get_little_endian<std::uint32_t>(&bytes[kTotal]);
  header.offset = get_little_endian<std::uint32_t>(&bytes[kOffset]);
  if (!fields_fit(header)) {
    return std::nullopt;
  }
  return header;
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
  std::array<std::byte, sizeof(std::uint32_t)> body;
  put_u32(body.data(), serial.value);
  return encode_record(type, body);
}

std::vector<std::byte> encode_position(RecordType type, const stripe::Graves::Grave& grave) {
  std::array<std::byte, kPositionRecordBytes - kRecordHeaderBytes> body{};
  put_u32(body.data(), grave.serial.value);
  put_u64(&body[8], grave.position);
  return encode_record(type, body);
}

std::optional<stripe::LaneSerial> decode_serial(std::span<const std::byte> body) {
  if (body.size() != sizeof(std::uint32_t)) {
    return std::nullopt;
  }
  return stripe::LaneSerial{get_u32(body.data())};
}

std::optional<stripe::Graves::Grave> decode_position(std::span<const std::byte> body) {
  if (body.size() != kPositionRecordBytes - kRecordHeaderBytes) {
    return std::nullopt;
  }
  return stripe::Graves::Grave{{get_u32(body.data())}, get_u64(&body[8])};
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
