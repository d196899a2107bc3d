#include "transport/witness/message.h"

#include <catch2/catch.hpp>
#include <string>

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

TEST_CASE("records read back, and those of an unknown kind are nothing") {
  const Record record{.kind = RecordKind::tell, .number = 0x89abcdef, .value = 0xfedcba9876543210u};
  const auto bytes = encode(record);
  REQUIRE(decode_record(bytes) == record);
  for (const std::uint8_t kind : {0, 3, 255}) {
    auto other = bytes;
    other[0] = std::byte{kind};
    INFO("kind " << int{kind});
    REQUIRE_FALSE(decode_record(other));
  }
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
