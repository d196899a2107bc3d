// Tokens, and hexadecimal digits.
#include "tools/control/token.h"

#include <CLI/CLI.hpp>
#include <array>
#include <catch2/catch.hpp>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <string>
#include <vector>

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
  const auto token = make_token();
  REQUIRE(token.ok());
  CHECK(token->size() == 32);
  CHECK(is_token(*token));
  CHECK(*make_token() != *token);
}

TEST_CASE("a token that a user names is long enough, and of plain characters") {
  CHECK(is_token("lab_token-0123456-01234"));
  for (const char* text : {"", "0123456789abcdef01234", "-123456789abcdef012345", "0123456789abcdef0123456 ",
                           "0123456789abcdef0123456$", "0123456789abcdef0123456\n"}) {
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
  CHECK(invite("tfabric perf", "0123456789abcdef")->token == "0123456789abcdef");
  CHECK(is_token(invite("tfabric perf", "")->token));
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

namespace {

// What the options say; a fault, or the tokens.
std::string given(const std::vector<std::string>& words) {
  CLI::App app;
  std::vector<std::string> tokens;
  add_token(app, tokens);
  try {
    app.parse(std::vector<std::string>(words.rbegin(), words.rend()));
  } catch (const CLI::Error& error) {
    return error.what();
  }
  std::string all;
  for (const std::string& token : tokens) {
    all += token + ";";
  }
  return all;
}

}  // namespace

TEST_CASE("tokens come from the command line, from a file, or from the environment, which then has none") {
  const std::string one(22, '1'), two(22, '2'), path = "token_test.tokens";
  std::ofstream(path) << one << "\r\n\n" << two << "  \n";
  CHECK(given({}).empty());
  CHECK(given({"--token", one, "--token", two}) == one + ";" + two + ";");
  CHECK(given({"--token-file", path}) == one + ";" + two + ";");
  CHECK_THAT(given({"--token-file", path, "--token", one}), Catch::Contains("excludes"));
  CHECK_THAT(given({"--token-file", path + ".none"}), Catch::Contains("No such file"));
  CHECK_THAT(given({"--token", std::string(21, 'a')}), Catch::Contains("a token has 22 to 64"));
  std::ofstream(path) << "\n";
  CHECK_THAT(given({"--token-file", path}), Catch::Contains("has no tokens, expected 1 to"));
  std::ofstream(path) << one << "\nshort\n";
  CHECK_THAT(given({"--token-file", path}), Catch::Contains("a token has 22 to 64"));
  for (const bool named : {false, true}) {
    REQUIRE(setenv(kTokenVariable, two.c_str(), 1) == 0);
    CHECK(given(named ? std::vector<std::string>{"--token", one} : std::vector<std::string>()) ==
          (named ? one : two) + ";");
    CHECK(std::getenv(kTokenVariable) == nullptr);
  }
  REQUIRE(setenv(kTokenVariable, "short", 1) == 0);
  CHECK_THAT(given({}), Catch::Contains("TFABRIC_TOKEN: a token has 22 to 64"));
  std::remove(path.c_str());
}
