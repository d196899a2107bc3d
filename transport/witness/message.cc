#include "transport/witness/message.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <limits>

#include "base/little_endian.h"
#include "config/config.h"
#include "transport/this_rank.h"

namespace tfabric::witness {
namespace {

constexpr std::uint32_t kMagic = 0x54574654;  // "TFWT"
constexpr std::uint8_t kVersion = 1;
constexpr std::size_t kVersionAt = 4, kPurposeAt = 5, kProcessAt = 8, kTokenAt = 16, kRankAt = 32,
                      kPidAt = 36, kHostAt = 40;
constexpr std::size_t kNumberAt = 4, kValueAt = 8;
constexpr std::size_t kHostBytes = kOpeningBytes - kHostAt;

// The text goes into messages: it must not bring control characters into a terminal.
std::string printable(std::span<const std::byte> bytes) {
  std::string text;
  for (const std::byte byte : bytes) {
    const auto c = static_cast<char>(byte);
    if (c == '\0') {
      break;
    }
    text += c > ' ' && c < 0x7f ? c : '?';
  }
  return text;
}

}  // namespace

Introduction this_process() {
  const auto rank = transport::rank_number(config::whole_environment());
  const bool fits = rank && *rank <= std::numeric_limits<std::int32_t>::max();
  return {.rank = fits ? static_cast<std::int32_t>(*rank) : -1,
          .pid = static_cast<std::uint32_t>(getpid()),
          .host = transport::host_name()};
}

std::string to_string(const Introduction& who) {
  const std::string rank = who.rank < 0 ? "" : fmt::format("rank {}, ", who.rank);
  return fmt::format("{}pid {} on {}", rank, who.pid, who.host.empty() ? "an unnamed host" : who.host);
}

std::array<std::byte, kOpeningBytes> encode(const Opening& opening) {
  std::array<std::byte, kOpeningBytes> bytes{};
  put_little_endian(bytes.data(), kMagic);
  bytes[kVersionAt] = std::byte{kVersion};
  bytes[kPurposeAt] = static_cast<std::byte>(opening.purpose);
  put_little_endian(&bytes[kProcessAt], opening.process);
  std::copy(opening.token.begin(), opening.token.end(), bytes.begin() + kTokenAt);
  put_little_endian(&bytes[kRankAt], static_cast<std::uint32_t>(opening.who.rank));
  put_little_endian(&bytes[kPidAt], opening.who.pid);
  const std::size_t length = std::min(opening.who.host.size(), kHostBytes);
  std::transform(opening.who.host.begin(), opening.who.host.begin() + static_cast<std::ptrdiff_t>(length),
                 bytes.begin() + kHostAt, [](char c) { return static_cast<std::byte>(c); });
  return bytes;
}

std::optional<Opening> decode_opening(std::span<const std::byte, kOpeningBytes> bytes) {
  const auto purpose = static_cast<Purpose>(bytes[kPurposeAt]);
  if (get_little_endian<std::uint32_t>(bytes.data()) != kMagic || bytes[kVersionAt] != std::byte{kVersion} ||
      purpose < Purpose::stay || purpose > Purpose::check) {
    return std::nullopt;
  }
  Opening opening{.purpose = purpose, .process = get_little_endian<std::uint64_t>(&bytes[kProcessAt])};
  if (opening.process == 0) {
    return std::nullopt;
  }
  std::copy_n(bytes.begin() + kTokenAt, opening.token.size(), opening.token.begin());
  opening.who = {
      .rank = std::max(-1, static_cast<std::int32_t>(get_little_endian<std::uint32_t>(&bytes[kRankAt]))),
      .pid = get_little_endian<std::uint32_t>(&bytes[kPidAt]),
      .host = printable(bytes.subspan<kHostAt>())};
  return opening;
}

std::array<std::byte, kRecordBytes> encode(const Record& record) {
  std::array<std::byte, kRecordBytes> bytes{};
  bytes[0] = static_cast<std::byte>(record.kind);
  put_little_endian(&bytes[kNumberAt], record.number);
  put_little_endian(&bytes[kValueAt], record.value);
  return bytes;
}

std::optional<Record> decode_record(std::span<const std::byte, kRecordBytes> bytes) {
  const auto kind = static_cast<RecordKind>(bytes[0]);
  if (kind != RecordKind::ask && kind != RecordKind::tell) {
    return std::nullopt;
  }
  return Record{.kind = kind,
                .number = get_little_endian<std::uint32_t>(&bytes[kNumberAt]),
                .value = get_little_endian<std::uint64_t>(&bytes[kValueAt])};
}

}  // namespace tfabric::witness
