#include "transport/tcp/lane/record.h"

#include <catch2/catch.hpp>

using namespace tfabric::lane;

TEST_CASE("a record header reads back as it was written") {
  const RecordHeader header{.type = RecordType::piece,
                            .index = {3},
                            .tag = 0xfffffff0u,
                            .group = {0x80000001u},
                            .length = 4096,
                            .total = 1u << 30,
                            .offset = 128};
  const auto decoded = decode(encode(header));
  REQUIRE(decoded.has_value());
  REQUIRE(*decoded == header);
}

TEST_CASE("a header with any one bit changed is refused") {
  const RecordHeaderBytes good =
      encode({.type = RecordType::piece, .tag = 7, .group = {9}, .length = 100, .total = 100});
  int accepted = 0;
  for (std::size_t bit = 0; bit < good.size() * 8; ++bit) {
    RecordHeaderBytes bad = good;
    bad[bit / 8] ^= static_cast<std::byte>(1u << (bit % 8));
    accepted += decode(bad).has_value() ? 1 : 0;
  }
  REQUIRE(accepted == 0);
}

TEST_CASE("a piece outside of its message and an overlong control record are refused") {
  REQUIRE_FALSE(decode(encode({.type = RecordType::piece, .length = 2, .total = 100, .offset = 99})));
  REQUIRE_FALSE(
      decode(encode({.type = RecordType::piece, .length = 0xffffffffu, .total = 100, .offset = 2})));
  REQUIRE_FALSE(decode(encode({.type = RecordType::hello, .length = kMaxControlBytes + 1})));
  REQUIRE_FALSE(decode(encode({.type = static_cast<RecordType>(99)})));
  REQUIRE(decode(encode({.type = RecordType::piece})));
}
