#include "transport/witness/message.h"

#include <catch2/catch.hpp>
#include <string>
#include <utility>
#include <vector>

using namespace tfabric;
using namespace tfabric::witness;

namespace {

Opening sample() {
  Opening opening{.purpose = Purpose::check,
                  .process = 0x1122334455667788u,
                  .who = {.rank = 7, .pid = 4242, .host = "gpu2"}};
  opening.token.fill(std::byte{9});
  return opening;
}

}  // namespace

TEST_CASE("an opening reads back as it was written") {
  const auto read = decode_opening(encode(sample()));
  REQUIRE(read);
  REQUIRE(read->purpose == Purpose::check);
  REQUIRE(read->process == sample().process);
  REQUIRE(read->token == sample().token);
  REQUIRE(read->who == sample().who);
}

TEST_CASE("an opening of another version, without a process or for an unknown purpose is refused") {
  for (const std::size_t at : {0, 4, 5}) {
    auto bytes = encode(sample());
    bytes[at] = std::byte{0x77};
    INFO("byte " << at);
    REQUIRE_FALSE(decode_opening(bytes));
  }
  Opening nameless = sample();
  nameless.process = 0;
  REQUIRE_FALSE(decode_opening(encode(nameless)));
}

TEST_CASE("a host's name is cut to its field and made printable") {
  Opening opening = sample();
  opening.who.host = "a\x1b[31mb c\x7f\xff";
  REQUIRE(decode_opening(encode(opening))->who.host == "a?[31mb?c??");
  opening.who.host.assign(1000, 'x');
  REQUIRE(decode_opening(encode(opening))->who.host == std::string(64, 'x'));
}

TEST_CASE("a process is introduced with its rank where a launcher reports one") {
  REQUIRE(to_string(Introduction{.rank = 7, .pid = 4242, .host = "gpu2"}) == "rank 7, pid 4242 on gpu2");
  REQUIRE(to_string(Introduction{.pid = 4242, .host = "gpu2"}) == "pid 4242 on gpu2");
  REQUIRE(to_string(Introduction{.rank = 0, .pid = 1, .host = {}}) == "rank 0, pid 1 on an unnamed host");
  Opening opening = sample();
  opening.who.rank = -5;
  REQUIRE(decode_opening(encode(opening))->who.rank == -1);
}

TEST_CASE("records read back, and those of an unknown kind or finding are nothing") {
  const Record record{.kind = RecordKind::report,
                      .finding = Finding::stopped,
                      .port = 0x1234,
                      .number = 0x89abcdef,
                      .value = 0xfedcba9876543210u};
  const auto bytes = encode(record);
  REQUIRE(decode_record(bytes) == record);
  for (const auto& [at, value] : {std::pair{0, 0}, {0, 8}, {0, 255}, {1, 5}, {1, 255}}) {
    auto other = bytes;
    other[static_cast<std::size_t>(at)] = static_cast<std::byte>(value);
    INFO("byte " << at << ": " << value);
    REQUIRE_FALSE(decode_record(other));
  }
}

namespace {

std::vector<Record> records_of(std::span<const std::byte> bytes) {
  std::vector<Record> records;
  for (; !bytes.empty(); bytes = bytes.subspan(kRecordBytes)) {
    records.push_back(*decode_record(bytes.first<kRecordBytes>()));
  }
  return records;
}

Contact watched() {
  Contact contact{.process = 5, .port = 4000, .token = {}};
  for (std::size_t i = 0; i < contact.token.size(); ++i) {
    contact.token[i] = static_cast<std::byte>(i + 1);
  }
  return contact;
}

}  // namespace

TEST_CASE("what a deputy is to watch reads back, again and again, with other records between") {
  const auto records = records_of(encode_watch(watched()));
  WatchReader reader;
  for (int round = 0; round < 2; ++round) {
    REQUIRE_FALSE(reader.read(records[0]));
    REQUIRE_FALSE(reader.read({.kind = RecordKind::ask, .value = 1}));
    REQUIRE_FALSE(reader.read(records[1]));
    REQUIRE(reader.read(records[2]) == watched());
  }
}

TEST_CASE("a request to watch that is not complete, or leads nowhere, is nothing") {
  const auto records = records_of(encode_watch(watched()));
  // The order of the records; each is read by a new reader, and gives nothing at any of them.
  const std::vector<std::vector<std::size_t>> orders{{2}, {0, 2}, {1, 2}, {1, 0, 2}, {0, 1, 1, 2}, {0, 0, 2}};
  for (const auto& order : orders) {
    WatchReader reader;
    for (const std::size_t i : order) {
      REQUIRE_FALSE(reader.read(records[i]));
    }
  }
  for (auto [port, process] : {std::pair{0, 5}, {4000, 0}}) {
    WatchReader reader;
    for (Record record : records) {
      record.port = record.kind == RecordKind::watch ? static_cast<std::uint16_t>(port) : 0;
      record.value = record.kind == RecordKind::watch ? static_cast<std::uint64_t>(process) : record.value;
      REQUIRE_FALSE(reader.read(record));
    }
  }
  WatchReader reader;
  REQUIRE_FALSE(reader.read({.kind = RecordKind::token, .number = 2, .value = 1}));
}

TEST_CASE("a report says who the process is") {
  const auto records =
      records_of(encode_report(5, Finding::ended, {.rank = -1, .pid = 4242, .host = "gpu2"}));
  REQUIRE(records ==
          std::vector<Record>{
              {.kind = RecordKind::pid, .number = 4242, .value = 5},
              {.kind = RecordKind::report, .finding = Finding::ended, .number = 0xffffffffu, .value = 5}});
}

TEST_CASE("a contact reads back as it was written, and zeros are none") {
  Contact contact{.process = 5, .address = {1, 2, 3}, .port = 4000};
  contact.token.fill(std::byte{6});
  std::array<std::byte, kContactBytes> bytes;
  encode(contact, bytes);
  REQUIRE(decode_contact(bytes) == contact);
  REQUIRE(contact.exists());
  bytes.fill(std::byte{0});
  REQUIRE_FALSE(decode_contact(bytes).exists());
}
