// What the ends of a comm ask and answer, as bytes.
#include "transport/watchdog/inquiry.h"

#include <catch2/catch.hpp>
#include <cstddef>
#include <string>
#include <vector>

#include "tests/hex.h"

using namespace tfabric;
using namespace tfabric::watchdog;

namespace {

Answer some_answer() {
  return {.finding = {.end = verdict::End::trouble,
                      .cause = verdict::Cause::peer_stopped,
                      .steps = 3,
                      .number = 0x1122334455667788,
                      .process = {.rank = 7, .pid = 4242, .host = "gpu2"},
                      .unposted_ms = 31000,
                      .age_ms = 1200},
          .end = {.state = verdict::PeerEnd::State::waits,
                  .messages = 40,
                  .outstanding = 2,
                  .unposted_ms = 5,
                  .elsewhere_ms = 6}};
}

}  // namespace

TEST_CASE("questions and answers come back as they were") {
  const verdict::Question question{.starter = 0x8877665544332211, .serial = 9, .steps = 2};
  REQUIRE(decode_question(encode(question)) == question);
  const auto answer = decode_answer(encode(some_answer()));
  REQUIRE(answer);
  REQUIRE(answer->finding.end == verdict::End::trouble);
  REQUIRE(answer->finding.cause == verdict::Cause::peer_stopped);
  REQUIRE(answer->finding.steps == 3);
  REQUIRE(answer->finding.number == 0x1122334455667788);
  REQUIRE(answer->finding.process == some_answer().finding.process);
  REQUIRE(answer->finding.unposted_ms == 31000);
  REQUIRE(answer->finding.age_ms == 1200);
  REQUIRE(answer->end.state == verdict::PeerEnd::State::waits);
  REQUIRE(answer->end.messages == 40);
  REQUIRE(answer->end.outstanding == 2);
  REQUIRE(answer->end.unposted_ms == 5);
  REQUIRE(answer->end.elsewhere_ms == 6);
}

TEST_CASE("questions and answers have the bytes that other builds read") {
  CHECK(hex(encode(verdict::Question{.starter = 0x8877665544332211, .serial = 9, .steps = 0x0201})) ==
        hex_of("1122334455667788 09000000 01020000"));
  CHECK(hex(encode(some_answer())) ==
        hex_of("0205 0300 07000000 8877665544332211 92100000 18790000 b0040000 01000000 2800000000000000 "
               "02000000 05000000 06000000 00000000 67707532 36x00"));
}

TEST_CASE("a later version's answer may be longer; a shorter one, or one with unknown values, is none") {
  const auto bytes = encode(some_answer());
  std::vector<std::byte> longer(bytes.begin(), bytes.end());
  longer.resize(128);
  REQUIRE(decode_answer(longer));
  REQUIRE(!decode_answer(std::span(bytes).first(kAnswerBytes - 1)));
  REQUIRE(!decode_question(std::span(bytes).first(kQuestionBytes - 1)));
  for (const std::size_t at : {std::size_t{0}, std::size_t{1}, std::size_t{28}}) {
    auto wrong = bytes;
    wrong[at] = std::byte{0xff};
    REQUIRE(!decode_answer(wrong));
  }
}

TEST_CASE("a host's name is cut to its place, and brings nothing into a terminal") {
  Answer answer = some_answer();
  answer.finding.process.host = "\x1b[2J" + std::string(60, 'h');
  const auto decoded = decode_answer(encode(answer));
  REQUIRE(decoded->finding.process.host == "?[2J" + std::string(36, 'h'));
  answer.finding.process.rank = -5;
  REQUIRE(decode_answer(encode(answer))->finding.process.rank == -1);
}
