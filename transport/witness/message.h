// What two witnesses send each other: an opening of fixed size from each end, then records of fixed size.
//
//   opening: "TFWT" | version 1 | purpose 1 | zero 2 | process 8 | token 16 | rank 4 | pid 4 | host 64
//   record:  kind 1 | finding 1 | port 2 | number 4 | value 8
//
// All fields are little-endian; those that a kind of record does not use are zero. The token is that of the
// process that is dialled; in its answer it is zero.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "transport/witness/contact.h"
#include "transport/witness/finding.h"

namespace tfabric::witness {

// Who a process is, for people.
struct Introduction {
  std::int32_t rank = -1;  // in the whole job; -1: no launcher reports it
  std::uint32_t pid = 0;   // in its own PID namespace
  std::string host;
  friend bool operator==(const Introduction&, const Introduction&) = default;
};
// Reads the environment: not for the data path.
[[nodiscard]] Introduction this_process();
// "rank 7, pid 4242 on gpu2"; "pid 4242 on gpu2".
[[nodiscard]] std::string to_string(const Introduction& who);

enum class Purpose : std::uint8_t {
  stay = 1,   // the connection between the two, which the process with the lower number dials
  check = 2,  // only asks whether the process is still there: the answer is an opening, and the end
  needed = 3  // as `stay`, from either of them: the dialler has no other connection that would serve
};

struct Opening {
  Purpose purpose = Purpose::stay;
  std::uint64_t process = 0;
  Token token{};
  Introduction who;
};
inline constexpr std::size_t kOpeningBytes = 104;
[[nodiscard]] std::array<std::byte, kOpeningBytes> encode(const Opening& opening);
// Returns nothing if it is not one of this version. The host's name is made printable.
[[nodiscard]] std::optional<Opening> decode_opening(std::span<const std::byte, kOpeningBytes> bytes);

enum class RecordKind : std::uint8_t {
  ask = 1,   // answer with a tell; value: a nonce
  tell = 2,  // value: the nonce; number: milliseconds since anything of the asker has come over the rails,
             // and 1; 0: nothing ever, or an older build
  // To a deputy (host.h), about a process of its host, which is the value:
  token = 3,    // number: the half, 0 or 1; value: these 8 bytes of the process's token
  watch = 4,    // report on the process, which listens on `port` of your address; after both halves
  inquire = 5,  // report once more, after you have asked the process
  // From a deputy, about the process that is the value:
  pid = 6,    // number: its process ID; before each report
  report = 7  // finding; number: its rank, or -1
};
struct Record {
  RecordKind kind = RecordKind::ask;
  Finding finding = Finding::unknown;
  std::uint16_t port = 0;
  std::uint32_t number = 0;
  std::uint64_t value = 0;
  friend bool operator==(const Record&, const Record&) = default;
};
inline constexpr std::size_t kRecordBytes = 16;
[[nodiscard]] std::array<std::byte, kRecordBytes> encode(const Record& record);
// Returns nothing for a kind or finding that is not known: a later version may send it, and it is skipped.
[[nodiscard]] std::optional<Record> decode_record(std::span<const std::byte, kRecordBytes> bytes);

// Two halves of a token, and `watch`.
inline constexpr std::size_t kWatchBytes = 3 * kRecordBytes;
[[nodiscard]] std::array<std::byte, kWatchBytes> encode_watch(const Contact& process);
// Puts the records of encode_watch() together again. One object for each connection.
class WatchReader {
 public:
  // Returns the process's contact, without an address, if the record is a `watch` that is complete and can be
  // meant. Other records change nothing.
  [[nodiscard]] std::optional<Contact> read(const Record& record);

 private:
  Token token_{};
  std::uint32_t next_half_ = 0;  // 2: both are there
};
// `pid` and `report`.
inline constexpr std::size_t kReportBytes = 2 * kRecordBytes;
[[nodiscard]] std::array<std::byte, kReportBytes> encode_report(std::uint64_t process, Finding finding,
                                                                const Introduction& who);

}  // namespace tfabric::witness
