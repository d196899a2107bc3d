#include "transport/lane/record.h"

#include <catch2/catch.hpp>

#include "tests/hex.h"

using namespace tfabric;
using namespace tfabric::lane;

TEST_CASE("records have the bytes that other builds read") {
  const RecordHeader header{.type = RecordType::piece,
                            .index = {3},
                            .tag = 0x11121314,
                            .group = {0x21222324},
                            .length = 0x1000,
                            .total = 0x31323334,
                            .offset = 0x2000};
  CHECK(hex(encode(header)) == hex_of("03 03 6b76 14131211 24232221 00100000 34333231 00200000"));
  CHECK(decode(encode(header)) == header);
  CHECK(hex(encode_serial(RecordType::bury, {0x41424344})) == hex_of("0600469c 8x00 04000000 8x00 44434241"));
  const auto position = encode_position(RecordType::buried, {{0x41424344}, 0x5152535455565758});
  CHECK(hex(position) == hex_of("070068d9 8x00 10000000 8x00 44434241 4x00 5857565554535251"));
}

TEST_CASE("a header with any bit changed is none") {
  const RecordHeaderBytes bytes = encode({.index = {1}, .tag = 5, .length = 6, .total = 7});
  for (std::size_t bit = 0; bit < 8 * bytes.size(); ++bit) {
    INFO("bit " << bit);
    RecordHeaderBytes changed = bytes;
    changed[bit / 8] ^= static_cast<std::byte>(1u << bit % 8);
    CHECK_FALSE(decode(changed));
  }
}
