#include "base/wire_codec.h"

#include <array>
#include <catch2/catch.hpp>
#include <vector>

#include "base/big_endian.h"
#include "tests/hex.h"

using namespace tfabric;

namespace {

enum class Kind : std::uint8_t { plain = 1, other = 2 };

struct Sample {
  Kind kind = Kind::plain;
  bool urgent = false;
  std::int16_t rail = 0;
  std::uint32_t serial = 0;
  std::uint64_t value = 0;
  std::array<std::uint8_t, 3> address{};
  std::vector<std::uint16_t> keys;
  std::string host;
  bool operator==(const Sample&) const = default;
};
const Sample kSample{.kind = Kind::other,
                     .urgent = true,
                     .rail = -2,
                     .serial = 0x11121314,
                     .value = 0x2122232425262728,
                     .address = {1, 2, 3},
                     .keys = {0x3132, 0x3334},
                     .host = "gpu2"};
constexpr std::size_t kSampleBytes = 38;
constexpr auto kSampleHex =
    "5445 02 01 feff 14131211 2827262524232221 010203 2x00 02 32313433 67707532 6x00 ";

bool lay_out(auto&& wire, WireMessage<Sample> auto& sample) {
  wire.fixed(std::uint16_t{0x4554}).u8(sample.kind).flag(sample.urgent).u16(sample.rail).u32(sample.serial);
  wire.u64(sample.value).bytes(sample.address).unused(2).count(sample.keys);
  for (auto& key : sample.keys) {
    wire.u16(key);
  }
  return wire.text(sample.host, 10).ok();
}

}  // namespace

TEST_CASE("a message is written little-endian, field after field, and reads back") {
  std::array<std::byte, kSampleBytes> bytes;
  bytes.fill(std::byte{0xff});
  WireWriter writer(bytes);
  REQUIRE(lay_out(writer, kSample));
  CHECK(writer.done());
  CHECK(hex(bytes) == hex_of(kSampleHex));
  Sample read;
  WireReader reader(bytes);
  REQUIRE(lay_out(reader, read));
  CHECK(reader.done());
  CHECK(read == kSample);
}

TEST_CASE("a writer goes no further than its bytes, however few these are") {
  for (std::size_t room = 0; room < kSampleBytes; ++room) {
    INFO("room for " << room);
    std::array<std::byte, kSampleBytes> bytes{};
    WireWriter writer{std::span(bytes).first(room)};
    CHECK_FALSE(lay_out(writer, kSample));
    CHECK_FALSE(writer.done());
    CHECK(std::all_of(bytes.begin() + static_cast<std::ptrdiff_t>(room), bytes.end(),
                      [](std::byte each) { return each == std::byte{0}; }));
  }
}

TEST_CASE("a reader that has failed stays so, and reads zeros") {
  std::array<std::byte, kSampleBytes> bytes;
  lay_out(WireWriter(bytes), kSample);
  for (std::size_t length = 0; length < kSampleBytes; ++length) {
    INFO("of " << length << " bytes");
    // Of its exact size, for AddressSanitizer.
    const std::vector<std::byte> cut(bytes.begin(), bytes.begin() + static_cast<std::ptrdiff_t>(length));
    Sample read = kSample;
    CHECK_FALSE(lay_out(WireReader(cut), read));
    CHECK(read.host.empty());
  }
  std::uint32_t four = 7;
  std::uint16_t two = 7;
  WireReader reader{std::span(bytes).first(3)};
  CHECK_FALSE(reader.u32(four).u16(two).ok());  // there are two bytes for the second
  CHECK(four == 0);
  CHECK(two == 0);
  CHECK_FALSE(reader.at(0).ok());
}

TEST_CASE("a reader refuses another fixed number, and a flag that is neither 0 nor 1") {
  for (const std::size_t at : {0, 1, 3}) {
    INFO("byte " << at);
    std::array<std::byte, kSampleBytes> bytes;
    lay_out(WireWriter(bytes), kSample);
    bytes[at] = std::byte{2};
    Sample read;
    CHECK_FALSE(lay_out(WireReader(bytes), read));
  }
}

TEST_CASE("fields are at offsets, too, and an offset beyond the end is refused") {
  std::array<std::byte, 8> bytes{};
  WireWriter writer(bytes);
  CHECK(writer.at(4).u16(std::uint16_t{0x0102}).at(1).u8(std::uint8_t{3}).ok());
  CHECK(writer.offset() == 2);
  CHECK(hex(bytes) == hex_of("00 03 2x00 0201 2x00"));
  CHECK(writer.at(8).done());
  CHECK_FALSE(writer.at(9).ok());
}

TEST_CASE("text is cut to its field, and what is read of it is printable") {
  std::array<std::byte, 4> bytes;
  std::string text = "\x1bgpu2";
  CHECK(WireWriter(bytes).text(text, bytes.size()).done());
  CHECK(WireReader(bytes).text(text, bytes.size()).done());
  CHECK(text == "?gpu");
}

TEST_CASE("numbers of networks' headers are big-endian, at any alignment") {
  std::array<std::byte, 7> bytes{};
  put_big_endian(&bytes[1], std::uint16_t{0x0102});
  put_big_endian(&bytes[3], std::uint32_t{0x03040506});
  CHECK(hex(bytes) == "00010203040506");
  CHECK(get_big_endian<std::uint16_t>(&bytes[1]) == 0x0102);
  CHECK(get_big_endian<std::uint32_t>(&bytes[3]) == 0x03040506);
}
