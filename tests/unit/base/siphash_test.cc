#include "base/siphash.h"

#include <catch2/catch.hpp>
#include <string>
#include <utility>
#include <vector>

#include "tests/hex.h"

using namespace tfabric;

// vectors_sip128 of the reference code: key 00 01 … 0f, input 00 01 … of each length.
TEST_CASE("SipHash-2-4 with 128 bits of output gives what the reference code gives") {
  SipHashKey key;
  std::vector<std::byte> input(64);
  for (std::size_t i = 0; i < input.size(); ++i) {
    input[i] = static_cast<std::byte>(i);
    if (i < key.size()) {
      key[i] = input[i];
    }
  }
  const std::vector<std::pair<std::size_t, std::string>> vectors = {
      {0, "a3817f04ba25a8e66df67214c7550293"},  {1, "da87c1d86b99af44347659119b22fc45"},
      {7, "a1f1ebbed8dbc153c0b84aa61ff08239"},  {8, "3b62a9ba6258f5610f83e264f31497b4"},
      {9, "264499060ad9baabc47f8b02bb6d71ed"},  {15, "5493e99933b0a8117e08ec0f97cfc3d9"},
      {16, "6ee2a4ca67b054bbfd3315bf85230577"}, {31, "2939b0183223fafc1723de4f52c43d35"},
      {33, "77c6077146f01c32b6b69d5f4ea9ffcf"}, {48, "f7e5aef549f782cf379055a608269b16"},
      {63, "5150d1772f50834a503e069a973fbd7c"}};
  for (const auto& [length, tag] : vectors) {
    INFO("length " << length);
    CHECK(hex(siphash(key, std::span(input).first(length))) == tag);
  }
}

TEST_CASE("two tags are equal if no bit differs") {
  SipHashTag one;
  one.fill(std::byte{0x5a});
  REQUIRE(equal_in_constant_time(one, one));
  for (std::size_t bit = 0; bit < 8 * one.size(); ++bit) {
    SipHashTag other = one;
    other[bit / 8] ^= static_cast<std::byte>(1u << bit % 8);
    REQUIRE_FALSE(equal_in_constant_time(one, other));
  }
}
