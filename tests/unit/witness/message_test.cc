#include "transport/witness/message.h"

#include <catch2/catch.hpp>
#include <string>

#include "tests/hex.h"

using namespace tfabric;
using namespace tfabric::witness;

namespace {

constexpr Token kKey{std::byte{1}, std::byte{2}};

Opening sample() {
  Opening opening{.purpose = Purpose::check,
                  .process = 0x1122334455667788u,
                  .who = {.rank = 7, .pid = 4242, .host = "gpu2"}};
  opening.nonce.fill(std::byte{9});
  return opening;
}

}  // namespace

TEST_CASE("an opening reads back as it was written") {
  const auto read = decode_opening(encode(sample(), kKey));
  REQUIRE(read);
  REQUIRE(read->purpose == Purpose::check);
  REQUIRE(read->process == sample().process);
  REQUIRE(read->nonce == sample().nonce);
  REQUIRE(read->who == sample().who);
}

TEST_CASE("openings, records and contacts have the bytes that other builds read") {
  CHECK(hex(encode(sample(), kKey)) ==
        hex_of("54465754 02 02 0000 8877665544332211 09090909090909090909090909090909 07000000 92100000 "
               "67707532 60x00 c399bcd7396d40ad7d832b3913192572"));
  CHECK(hex(encode({.kind = RecordKind::tell, .number = 0x89abcdef, .value = 0xfedcba9876543210u})) ==
        hex_of("02000000 efcdab89 1032547698badcfe"));
  std::array<std::byte, kContactBytes> contact;
  const Contact sent{.process = 5, .address = {1, 2, 3}, .port = 4000, .token = {}};
  REQUIRE(lay_out(WireWriter(contact), sent));
  CHECK(hex(contact) == hex_of("0500000000000000 010203 13x00 a00f"));
}

TEST_CASE("an opening of another version, without a process or for an unknown purpose is refused") {
  for (const std::size_t at : {0, 4, 5}) {
    auto bytes = encode(sample(), kKey);
    bytes[at] = std::byte{0x77};
    INFO("byte " << at);
    REQUIRE_FALSE(decode_opening(bytes));
  }
  Opening nameless = sample();
  nameless.process = 0;
  REQUIRE_FALSE(decode_opening(encode(nameless, kKey)));
}

TEST_CASE("an opening, its answer and the proof are signed, each for this connection alone") {
  const OpeningBytes first = encode(sample(), kKey), answer = encode(sample(), kKey, &first);
  Opening later = sample();
  later.nonce[3] ^= std::byte{1};
  const OpeningBytes other = encode(later, kKey), other_answer = encode(later, kKey, &first);
  REQUIRE(is_signed(first, kKey));
  REQUIRE(is_signed(answer, kKey, &first));
  CHECK_FALSE(is_signed(first, kKey, &first));
  CHECK_FALSE(is_signed(answer, kKey));
  CHECK_FALSE(is_signed(answer, kKey, &other));
  CHECK_FALSE(is_signed(first, Token{}));
  CHECK(proof_of(first, answer, kKey) != proof_of(first, other_answer, kKey));
  CHECK(proof_of(first, answer, kKey) != proof_of(other, answer, kKey));
  CHECK(proof_of(first, answer, kKey) != proof_of(first, answer, Token{}));
  for (std::size_t bit = 0; bit < 8 * first.size(); ++bit) {
    OpeningBytes changed = first;
    changed[bit / 8] ^= static_cast<std::byte>(1u << bit % 8);
    REQUIRE_FALSE(is_signed(changed, kKey));
  }
}

TEST_CASE("a host's name is cut to its field and made printable") {
  Opening opening = sample();
  opening.who.host = "a\x1b[31mb c\x7f\xff";
  REQUIRE(decode_opening(encode(opening, kKey))->who.host == "a?[31mb?c??");
  opening.who.host.assign(1000, 'x');
  REQUIRE(decode_opening(encode(opening, kKey))->who.host == std::string(64, 'x'));
}

TEST_CASE("a process is introduced with its rank where a launcher reports one") {
  REQUIRE(to_string(verdict::Process{.rank = 7, .pid = 4242, .host = "gpu2"}) == "rank 7, pid 4242 on gpu2");
  REQUIRE(to_string(verdict::Process{.pid = 4242, .host = "gpu2"}) == "pid 4242 on gpu2");
  REQUIRE(to_string(verdict::Process{.rank = 0, .pid = 1, .host = {}}) == "rank 0, pid 1 on an unnamed host");
  Opening opening = sample();
  opening.who.rank = -5;
  REQUIRE(decode_opening(encode(opening, kKey))->who.rank == -1);
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
  REQUIRE(lay_out(WireWriter(bytes), contact));
  Contact read;
  REQUIRE(lay_out(WireReader(bytes), read));
  REQUIRE(read.token == Token{});  // it does not travel
  contact.token = {};
  REQUIRE(read == contact);
  REQUIRE(read.exists());
  bytes.fill(std::byte{0});
  REQUIRE(lay_out(WireReader(bytes), read));
  REQUIRE_FALSE(read.exists());
}
