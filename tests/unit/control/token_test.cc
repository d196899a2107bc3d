// Tokens, and hexadecimal digits.
#include "tools/control/token.h"

#include <array>
#include <catch2/catch.hpp>
#include <cstddef>
#include <string>

#include "tools/control/hex.h"
#include "tools/control/invitation.h"
#include "tools/control/token_option.h"

using namespace tfabric::control;

TEST_CASE("hex carries a handle unchanged, and anything else is refused") {
  std::array<std::byte, 4> bytes = {std::byte{0}, std::byte{0xff}, std::byte{0x1a}, std::byte{9}};
  CHECK(to_hex(bytes) == "00ff1a09");
  std::array<std::byte, 4> back{};
  REQUIRE(from_hex("00ff1a09", back));
  CHECK(back == bytes);
  CHECK_FALSE(from_hex("00ff1a0", back));
  CHECK_FALSE(from_hex("00ff1a0g", back));
  CHECK_FALSE(from_hex("00ff1a0901", back));
}

TEST_CASE("each token is another one, and a shell takes it as it is") {
  const std::string token = make_token();
  CHECK(token.size() == 32);
  CHECK(is_token(token));
  CHECK(make_token() != token);
}

TEST_CASE("a token that a user names is long enough, and of plain characters") {
  CHECK(is_token("lab_token-0123456"));
  for (const char* text : {"", "0123456789abcde", "-123456789abcdef", "0123456789abcde ", "0123456789abcde$",
                           "0123456789abcde\n"}) {
    CAPTURE(text);
    CHECK_FALSE(is_token(text));
  }
  CHECK_FALSE(is_token(std::string(kMaxTokenBytes + 1, 'a')));
}

TEST_CASE("tokens are equal in every character") {
  CHECK(same_token("abc", "abc"));
  CHECK_FALSE(same_token("abc", "abd"));
  CHECK_FALSE(same_token("abc", "ab"));
  CHECK_FALSE(same_token("", "a"));
}

TEST_CASE("what is printed for the other host is its whole command") {
  const Invitation invitation{.service = "tfabric perf", .token = "0123456789abcdef"};
  CHECK(announcement("one client", "tfabric perf host-a", invitation, 18590, 18590) ==
        "waiting for one client on port 18590; on the other host, run:\n"
        "    tfabric perf host-a --token 0123456789abcdef\n");
  CHECK_THAT(announcement("one client", "tfabric perf host-a", invitation, 7000, 18590),
             Catch::EndsWith(" --token 0123456789abcdef --port 7000\n"));
  CHECK(invite("tfabric perf", "0123456789abcdef").token == "0123456789abcdef");
  CHECK(is_token(invite("tfabric perf", "").token));
}

TEST_CASE("a connecting command needs one token for each host, or one for all") {
  const std::string one = "0123456789abcdef";
  CHECK(token_error({}, 0, "tfabric perf").empty());
  CHECK(token_error({one}, 0, "tfabric perf").empty());
  CHECK(token_error({one}, 1, "tfabric perf").empty());
  CHECK(token_error({one}, 3, "tfabric perf").empty());
  CHECK(token_error({one, one, one}, 3, "tfabric perf").empty());
  CHECK_THAT(token_error({}, 1, "tfabric perf"),
             Catch::Contains("`tfabric perf --listen` prints the whole command"));
  CHECK_THAT(token_error({one, one}, 0, "tfabric perf"), Catch::Contains("expected one --token"));
  CHECK_THAT(token_error({one, one}, 1, "tfabric perf"), Catch::Contains("expected one --token"));
  CHECK_THAT(token_error({one, one}, 3, "tfabric perf"), Catch::Contains("2 tokens are given for 3 hosts"));
}
