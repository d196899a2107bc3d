#include "transport/witness/message.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <limits>
#include <vector>

#include "base/wire_codec.h"
#include "config/config.h"
#include "transport/this_rank.h"

namespace tfabric::witness {
namespace {

constexpr std::uint32_t kMagic = 0x54574654;  // "TFWT"
constexpr std::uint8_t kVersion = 2;
constexpr std::size_t kTagAt = kOpeningBytes - sizeof(SipHashTag);

// All but the tag.
bool lay_out(auto&& wire, WireMessage<Opening> auto& opening) {
  constexpr std::size_t kHostBytes = 64;
  wire.fixed(kMagic).fixed(kVersion).u8(opening.purpose).unused(2).u64(opening.process).bytes(opening.nonce);
  return wire.u32(opening.who.rank).u32(opening.who.pid).text(opening.who.host, kHostBytes).ok();
}

bool lay_out(auto&& wire, WireMessage<Record> auto& record) {
  return wire.u8(record.kind).unused(3).u32(record.number).u64(record.value).ok();
}

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

}  // namespace

verdict::Process this_process() {
  const auto rank = transport::rank_number(config::whole_environment());
  const bool fits = rank && *rank <= std::numeric_limits<std::int32_t>::max();
  return {.rank = fits ? static_cast<std::int32_t>(*rank) : -1,
          .pid = static_cast<std::uint32_t>(getpid()),
          .host = transport::host_name()};
}

std::string to_string(const verdict::Process& who) {
  const std::string rank = who.rank < 0 ? "" : fmt::format("rank {}, ", who.rank);
  return fmt::format("{}pid {} on {}", rank, who.pid, who.host.empty() ? "an unnamed host" : who.host);
}

OpeningBytes encode(const Opening& opening, const Token& key, const OpeningBytes* answered) {
  OpeningBytes bytes;
  lay_out(WireWriter(bytes), opening);
  WireWriter(bytes).at(kTagAt).bytes(sign_opening(bytes, key, answered));
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
  Opening opening;
  if (!lay_out(WireReader(bytes), opening) || opening.purpose < Purpose::stay ||
      opening.purpose > Purpose::check || opening.process == 0) {
    return std::nullopt;
  }
  opening.who.rank = std::max(-1, opening.who.rank);
  std::string& host = opening.who.host;
  std::replace(host.begin(), host.end(), ' ', '?');  // a name is one word where it is shown
  return opening;
}

std::array<std::byte, kRecordBytes> encode(const Record& record) {
  std::array<std::byte, kRecordBytes> bytes;
  lay_out(WireWriter(bytes), record);
  return bytes;
}

std::optional<Record> decode_record(std::span<const std::byte, kRecordBytes> bytes) {
  Record record;
  lay_out(WireReader(bytes), record);
  const bool known = record.kind == RecordKind::ask || record.kind == RecordKind::tell;
  return known ? std::optional(record) : std::nullopt;
}

}  // namespace tfabric::witness
