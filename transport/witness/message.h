// What two witnesses send each other: an opening of fixed size from each end, then records of fixed size.
//
//   opening: "TFWT" | version 1 | purpose 1 | zero 2 | process 8 | nonce 16 | rank 4 | pid 4 | host 64 |
//            tag 16
//   proof:   tag 16, the dialler's answer to the answer
//   record:  kind 1 | zero 3 | number 4 | value 8
//
// All fields are little-endian; those that a kind of record does not use are zero. The tags are SipHash-2-4
// with 128 bits of output, under a key that both processes have from a handshake of their transport: of the
// dialler's opening, of the answer to that opening, and of both tags. So no other process is taken for
// either of them, whatever it has seen.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "observe/verdict/process.h"
#include "transport/witness/contact.h"

namespace tfabric::witness {

// Reads the environment: not for the data path.
[[nodiscard]] verdict::Process this_process();
// "rank 7, pid 4242 on gpu2"; "pid 4242 on gpu2".
[[nodiscard]] std::string to_string(const verdict::Process& who);

enum class Purpose : std::uint8_t {
  stay = 1,  // the connection between the two, which the process with the lower number dials
  check = 2  // only asks whether the process is still there: the answer is an opening, and the end
};

struct Opening {
  Purpose purpose = Purpose::stay;
  std::uint64_t process = 0;
  std::array<std::byte, 16> nonce{};  // random, of this connection
  verdict::Process who;
};
inline constexpr std::size_t kOpeningBytes = 120;
using OpeningBytes = std::array<std::byte, kOpeningBytes>;
// Signed with the key; an answer as the answer to the dialler's opening.
[[nodiscard]] OpeningBytes encode(const Opening& opening, const Token& key,
                                  const OpeningBytes* answered = nullptr);
// Returns nothing if it is not one of this version. The host's name is made printable.
[[nodiscard]] std::optional<Opening> decode_opening(std::span<const std::byte, kOpeningBytes> bytes);
[[nodiscard]] bool is_signed(std::span<const std::byte, kOpeningBytes> bytes, const Token& key,
                             const OpeningBytes* answered = nullptr);
[[nodiscard]] SipHashTag proof_of(std::span<const std::byte, kOpeningBytes> opening,
                                  std::span<const std::byte, kOpeningBytes> answer, const Token& key);

enum class RecordKind : std::uint8_t {
  ask = 1,  // answer with a tell; value: a nonce
  tell = 2  // value: the nonce; number: milliseconds since anything of the asker has come over the rails,
            // and 1; 0: nothing ever, or an older build
};
struct Record {
  RecordKind kind = RecordKind::ask;
  std::uint32_t number = 0;
  std::uint64_t value = 0;
  friend bool operator==(const Record&, const Record&) = default;
};
inline constexpr std::size_t kRecordBytes = 16;
static_assert(sizeof(SipHashTag) == kRecordBytes);
[[nodiscard]] std::array<std::byte, kRecordBytes> encode(const Record& record);
// Returns nothing for a kind that is not known: another version may send it, and it is skipped.
[[nodiscard]] std::optional<Record> decode_record(std::span<const std::byte, kRecordBytes> bytes);

}  // namespace tfabric::witness
