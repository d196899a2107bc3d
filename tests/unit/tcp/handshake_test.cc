#include "transport/session/handshake.h"

#include <algorithm>
#include <array>
#include <catch2/catch.hpp>
#include <random>
#include <string>

#include "tests/hex.h"

using namespace tfabric::session;
using namespace tfabric;

namespace {
std::array<std::byte, transport::kHandleBytes> sample() {
  Handle handle{.process = 0x1234, .port = 4000, .max_recvs = 2};
  handle.token.fill(std::byte{9});
  handle.endpoints = {{.address = *net::parse_ip("10.0.0.1")}, {.address = *net::parse_ip("fd00::2")}};
  std::array<std::byte, transport::kHandleBytes> bytes;
  write_handle(handle, bytes);
  return bytes;
}
}  // namespace

TEST_CASE("a handle reads back as it was written") {
  const auto bytes = sample();
  const auto handle = read_handle(bytes);
  REQUIRE(handle.ok());
  REQUIRE(handle->process == 0x1234);
  REQUIRE(handle->port == 4000);
  REQUIRE(handle->max_recvs == 2);
  REQUIRE(handle->token[15] == std::byte{9});
  REQUIRE(handle->endpoints.size() == 2);
  REQUIRE(net::to_string(handle->endpoints[1].address) == "fd00::2");
  REQUIRE(attempt_of(bytes) == 0);
}

TEST_CASE("a handle has the bytes that other builds read") {
  Handle handle{.process = 0x1234, .port = 4000, .max_recvs = 2};
  handle.token.fill(std::byte{9});
  handle.endpoints = {{.address = *net::parse_ip("10.0.0.1")},
                      {.address = *net::parse_ip("fd00::2"), .port = 0x0506, .role = RailRole::reserve},
                      {.address = *net::parse_ip("10.0.0.3"), .port = 0x0708, .role = RailRole::lifeboat}};
  std::array<std::byte, transport::kHandleBytes> bytes;
  write_handle(handle, bytes);
  CHECK(hex(bytes) ==
        hex_of("54464142 09 01 03 02 09090909090909090909090909090909 3412000000000000 a00f 0605 7cc0627b "
               "32x00 000a000001 07fd 14x00 02 0a08070a000003 27x00"));
}

TEST_CASE("a handle has endpoints of any kind and role, as many as it has room for") {
  const unsigned seed = GENERATE(range(0u, 200u));
  const transport::ListenOptions options{.short_handle = GENERATE(false, true)};
  INFO("seed " << seed << ", short: " << options.short_handle);
  std::mt19937 random(seed);
  Handle handle{.port = 4000, .max_recvs = 1};
  for (int i = 0; i < 12; ++i) {
    const bool v6 = random() % 3 == 0, kernel = random() % 3 == 0;
    const Endpoint endpoint{
        .address = *net::parse_ip((v6 ? "fd00::" : "10.0.0.") + std::to_string(1 + random() % 200)),
        .port = static_cast<std::uint16_t>(kernel ? 1 + random() % 65535 : 0),
        .role = static_cast<RailRole>(random() % 3)};
    if (has_room_for(handle, endpoint, transport::room_in_handle(options))) {
      handle.endpoints.push_back(endpoint);
    }
  }
  std::array<std::byte, transport::kHandleBytes> bytes;
  write_handle(handle, bytes);
  // NCCL's own networks take what is there for a connection that they have begun.
  CHECK(std::all_of(&bytes[40], &bytes[72], [](std::byte each) { return each == std::byte{0}; }));
  if (options.short_handle) {
    // Made longer in memory that is not clean.
    std::array<std::byte, transport::kShortHandleBytes> sent{};
    transport::shorten_handle(bytes, sent);
    bytes.fill(std::byte{0xff});
    transport::lengthen_handle(sent, bytes);
  }
  const auto read = read_handle(bytes);
  REQUIRE(read.ok());
  CHECK(read->endpoints == handle.endpoints);
  CHECK(attempt_of(bytes) == 0);
}

TEST_CASE(
    "a handle has room for eight rails with IPv4, or for three with IPv6 and a life-boat; half of it "
    "for four, or one and a life-boat") {
  const bool half = GENERATE(false, true);
  const std::size_t room = transport::room_in_handle({.short_handle = half});
  const int most_v4 = half ? 4 : 8, most_v6 = half ? 1 : 3;
  Handle v4, v6;
  for (int i = 1; i <= 9; ++i) {
    const Endpoint four{.address = *net::parse_ip("10.0.0." + std::to_string(i))};
    const Endpoint six{.address = *net::parse_ip("fd00::" + std::to_string(i))};
    CHECK(has_room_for(v4, four, room) == (i <= most_v4));
    CHECK(has_room_for(v6, six, room) == (i <= most_v6));
    if (has_room_for(v4, four, room)) {
      v4.endpoints.push_back(four);
    }
    if (has_room_for(v6, six, room)) {
      v6.endpoints.push_back(six);
    }
  }
  CHECK(
      has_room_for(v6, {.address = *net::parse_ip("10.0.0.1"), .port = 7, .role = RailRole::lifeboat}, room));
}

TEST_CASE("a handle with malformed endpoints is refused") {
  const auto with = [](std::size_t at, std::uint8_t value) {
    auto bytes = sample();
    bytes[at] = std::byte{value};
    transport::seal_handle(kProtocolVersion, bytes);
    return read_handle(bytes);
  };
  CHECK(with(72, 0).ok());
  CHECK_FALSE(with(72, 0xc));   // a role that there is not
  CHECK_FALSE(with(72, 0xf0));  // flags that there are not
  CHECK_FALSE(with(6, 3));      // a third address that is none: the unspecified one
  CHECK_FALSE(with(6, 0));
  CHECK_FALSE(with(6, 9));
}

TEST_CASE("a handle that groups no receives, or more than there can be, is refused") {
  for (const std::uint8_t wrong : {0, 9, 255}) {
    std::array<std::byte, transport::kHandleBytes> bytes;
    write_handle({.max_recvs = wrong, .endpoints = {{.address = *net::parse_ip("10.0.0.1")}}}, bytes);
    REQUIRE_FALSE(read_handle(bytes));
  }
}

TEST_CASE("the connector's own mark does not invalidate a handle") {
  auto bytes = sample();
  set_attempt(bytes, 77);
  REQUIRE(attempt_of(bytes) == 77);
  REQUIRE(read_handle(bytes).ok());
}

TEST_CASE("a handle of another network, another version, or a damaged one is refused with what to do") {
  std::array<std::byte, transport::kHandleBytes> foreign{};
  REQUIRE(read_handle(foreign).error().message.find("NCCL_NET=tfabric") != std::string::npos);
  for (std::size_t i = 0; i < 36; ++i) {
    auto bytes = sample();
    bytes[i] ^= std::byte{1};
    INFO("byte " << i);
    REQUIRE(read_handle(bytes).error().code == Errc::invalid_usage);
  }
}
