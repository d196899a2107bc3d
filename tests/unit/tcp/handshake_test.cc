#include "transport/tcp/session/handshake.h"

#include <array>
#include <catch2/catch.hpp>

#include "transport/tcp/lane/record.h"

using namespace tfabric::tcp;
using tfabric::lane::kRecordHeaderBytes;

namespace {
template <class T>
std::span<const std::byte> body(const T& record) {
  return std::span<const std::byte>(record).subspan(kRecordHeaderBytes);
}
}  // namespace

TEST_CASE("hello and welcome read back as they were written") {
  Hello hello{.comm = 0x1122334455667788u, .kind = HelloKind::joins, .rail = 3, .serial = {0xfedcba98u}};
  hello.token.fill(std::byte{5});
  hello.witness = {.process = 11, .address = {1, 2}, .port = 12, .token = {}};
  const auto decoded = decode_hello(body(encode(hello)));
  REQUIRE(decoded.has_value());
  REQUIRE(decoded->comm == hello.comm);
  REQUIRE(decoded->kind == HelloKind::joins);
  REQUIRE(decoded->rail == 3);
  REQUIRE(decoded->serial == hello.serial);
  REQUIRE(decoded->token == hello.token);
  REQUIRE(decoded->witness == hello.witness);
  const auto welcome = decode_welcome(body(encode(Welcome{WelcomeStatus::gone, {7}, hello.witness})));
  REQUIRE(welcome.has_value());
  REQUIRE(welcome->status == WelcomeStatus::gone);
  REQUIRE(welcome->serial.value == 7);
  REQUIRE(welcome->witness == hello.witness);
}

TEST_CASE("a hello of another version, of a wrong length, of no kind or without a serial is refused") {
  auto record = encode(Hello{.serial = {1}});
  REQUIRE(decode_hello(body(record)));
  record[kRecordHeaderBytes] ^= std::byte{0xff};
  REQUIRE_FALSE(decode_hello(body(record)));
  REQUIRE_FALSE(decode_hello({}));
  REQUIRE_FALSE(decode_hello(body(encode(Hello{.serial = {0}}))));
  REQUIRE_FALSE(decode_hello(body(encode(Hello{.kind = static_cast<HelloKind>(2), .serial = {1}}))));
}

using namespace tfabric;

namespace {
std::array<std::byte, transport::kHandleBytes> sample() {
  Handle handle{.process = 0x1234, .port = 4000, .max_recvs = 2};
  handle.token.fill(std::byte{9});
  handle.addresses = {*net::parse_ip("10.0.0.1"), *net::parse_ip("fd00::2")};
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
  REQUIRE(handle->addresses.size() == 2);
  REQUIRE(net::to_string(handle->addresses[1]) == "fd00::2");
  REQUIRE(attempt_of(bytes) == 0);
}

TEST_CASE("a handle says by which port the kernel takes the connections of an address") {
  Handle handle{.port = 4000, .max_recvs = 1};
  handle.addresses = {*net::parse_ip("10.0.0.1"), *net::parse_ip("fd00::2"), *net::parse_ip("10.9.0.1"),
                      *net::parse_ip("::")};
  const auto kernel = GENERATE(range(0u, 16u));
  for (std::size_t i = 0; i < handle.addresses.size(); ++i) {
    const bool v4 = handle.addresses[i].is_v4();
    handle.kernel_ports[i] = (kernel >> i & 1u) == 0 ? 0 : static_cast<std::uint16_t>(v4 ? 50000 + i : 40000);
  }
  std::array<std::byte, transport::kHandleBytes> bytes;
  write_handle(handle, bytes);
  const auto read = read_handle(bytes);
  REQUIRE(read.ok());
  CHECK(read->addresses == handle.addresses);
  CHECK(read->kernel_ports == handle.kernel_ports);
}

TEST_CASE("a handle that groups no receives, or more than there can be, is refused") {
  for (const std::uint8_t wrong : {0, 9, 255}) {
    std::array<std::byte, transport::kHandleBytes> bytes;
    write_handle({.max_recvs = wrong, .addresses = {*net::parse_ip("10.0.0.1")}}, bytes);
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
