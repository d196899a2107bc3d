#include "transport/witness/message.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <limits>
#include <vector>

#include "base/little_endian.h"
#include "config/config.h"
#include "transport/this_rank.h"

namespace tfabric::witness {
namespace {

constexpr std::uint32_t kMagic = 0x54574654;  // "TFWT"
constexpr std::uint8_t kVersion = 2;
constexpr std::size_t kVersionAt = 4, kPurposeAt = 5, kProcessAt = 8, kNonceAt = 16, kRankAt = 32,
                      kPidAt = 36, kHostAt = 40, kTagAt = kOpeningBytes - sizeof(SipHashTag);
constexpr std::size_t kNumberAt = 4, kValueAt = 8;
constexpr std::size_t kHostBytes = kTagAt - kHostAt;

using Bytes = std::span<const std::byte>;

// What is signed begins with what it is, so that no tag stands for another.
enum class Signed : std::uint8_t { opening = 1, answer = 2, proof = 3 };

SipHashTag sign(const Token& key, Signed what, Bytes first, Bytes second) {
  std::vector<std::byte> input{static_cast<std::byte>(what)};
  input.insert(input.end(), first.begin(), first.end());
  input.insert(input.end(), second.begin(), second.end());
  return siphash(key, input);
}

SipHashTag sign_opening(Bytes opening, const Token& key, const OpeningBytes* answered) {
  return answered == nullptr ? sign(key, Signed::opening, opening.first(kTagAt), {})
                             : sign(key, Signed::answer, *answered, opening.first(kTagAt));
}

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

OpeningBytes encode(const Opening& opening, const Token& key, const OpeningBytes* answered) {
  OpeningBytes bytes{};
  put_little_endian(bytes.data(), kMagic);
  bytes[kVersionAt] = std::byte{kVersion};
  bytes[kPurposeAt] = static_cast<std::byte>(opening.purpose);
  put_little_endian(&bytes[kProcessAt], opening.process);
  std::copy(opening.nonce.begin(), opening.nonce.end(), bytes.begin() + kNonceAt);
  put_little_endian(&bytes[kRankAt], static_cast<std::uint32_t>(opening.who.rank));
  put_little_endian(&bytes[kPidAt], opening.who.pid);
  const std::size_t length = std::min(opening.who.host.size(), kHostBytes);
  std::transform(opening.who.host.begin(), opening.who.host.begin() + static_cast<std::ptrdiff_t>(length),
                 bytes.begin() + kHostAt, [](char c) { return static_cast<std::byte>(c); });
  const SipHashTag tag = sign_opening(bytes, key, answered);
  std::copy(tag.begin(), tag.end(), bytes.begin() + kTagAt);
  return bytes;
}

bool is_signed(std::span<const std::byte, kOpeningBytes> bytes, const Token& key,
               const OpeningBytes* answered) {
  SipHashTag tag{};
  std::copy_n(bytes.begin() + kTagAt, tag.size(), tag.begin());
  return equal_in_constant_time(tag, sign_opening(bytes, key, answered));
}

SipHashTag proof_of(std::span<const std::byte, kOpeningBytes> opening,
                    std::span<const std::byte, kOpeningBytes> answer, const Token& key) {
  return sign(key, Signed::proof, opening.subspan<kTagAt>(), answer.subspan<kTagAt>());
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
  std::copy_n(bytes.begin() + kNonceAt, opening.nonce.size(), opening.nonce.begin());
  opening.who = {
      .rank = std::max(-1, static_cast<std::int32_t>(get_little_endian<std::uint32_t>(&bytes[kRankAt]))),
      .pid = get_little_endian<std::uint32_t>(&bytes[kPidAt]),
      .host = printable(bytes.subspan<kHostAt, kHostBytes>())};
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
