#include "transport/tcp/link/last_words.h"

#include <catch2/catch.hpp>
#include <string>

using namespace tfabric;
using namespace tfabric::link;
using namespace std::chrono_literals;

namespace {

FlowKey key_of(unsigned number) {
  return {.local = *net::parse_ip("10.0.0.1"),
          .remote = *net::parse_ip("10.0.0.2"),
          .ports = {static_cast<std::uint16_t>(number), static_cast<std::uint16_t>(number >> 16)}};
}

constexpr Instant kBegan{1h};

}  // namespace

TEST_CASE("a reason is known for a while, of the newest abort, until the ports are another connection's") {
  LastWords words({});
  CHECK(words.of(key_of(1), kBegan).empty());
  words.note(key_of(1), "first", kBegan);
  words.note(key_of(2), "other", kBegan + 1s);
  CHECK(words.of(key_of(1), kBegan + 1s) == "first");
  words.note(key_of(1), "second", kBegan + 2s);
  CHECK(words.of(key_of(1), kBegan + 29s) == "second");
  CHECK(words.of(key_of(2), kBegan + 29s) == "other");
  CHECK(words.of(key_of(2), kBegan + 31s).empty());
  CHECK(words.of(key_of(1), kBegan + 31s) == "second");
  CHECK(words.of(key_of(1), kBegan + 32s).empty());
  words.note(key_of(3), "third", kBegan + 40s);
  words.forget(key_of(3));
  words.forget(key_of(4));
  CHECK(words.of(key_of(3), kBegan + 40s).empty());
  words.note(key_of(3), "again", kBegan + 41s);
  CHECK(words.of(key_of(3), kBegan + 41s) == "again");
}

TEST_CASE("of many reasons the oldest are forgotten") {
  LastWords words({});
  for (unsigned i = 0; i < 20'000; ++i) {
    words.note(key_of(i), std::to_string(i), kBegan);
  }
  CHECK(words.of(key_of(20'000 - 4097), kBegan).empty());
  for (unsigned i = 20'000 - 4096; i < 20'000; ++i) {
    REQUIRE(words.of(key_of(i), kBegan) == std::to_string(i));
  }
}
