#include "transport/tcp/session/handshake.h"

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
  Hello hello{.comm = 0x1122334455667788u, .flow = 3, .flows = 4};
  hello.token.fill(std::byte{5});
  const auto decoded = decode_hello(body(encode(hello)));
  REQUIRE(decoded.has_value());
  REQUIRE(decoded->comm == hello.comm);
  REQUIRE(decoded->flow == 3);
  REQUIRE(decoded->flows == 4);
  REQUIRE(decoded->token == hello.token);
  const auto welcome = decode_welcome(body(encode(Welcome{WelcomeStatus::no_listener, 7})));
  REQUIRE(welcome.has_value());
  REQUIRE(welcome->status == WelcomeStatus::no_listener);
  REQUIRE(welcome->flow == 7);
}

TEST_CASE("a hello of another version, of a wrong length or with impossible flow numbers is refused") {
  auto record = encode(Hello{.flow = 0, .flows = 1});
  REQUIRE(decode_hello(body(record)));
  record[kRecordHeaderBytes] ^= std::byte{0xff};
  REQUIRE_FALSE(decode_hello(body(record)));
  REQUIRE_FALSE(decode_hello({}));
  REQUIRE_FALSE(decode_hello(body(encode(Hello{.flow = 4, .flows = 4}))));
  REQUIRE_FALSE(decode_hello(body(encode(Hello{.flow = 0, .flows = 1000}))));
}

TEST_CASE("a flow that joins a comm has a number below the most that a comm may have") {
  REQUIRE(decode_hello(body(encode(Hello{.flow = kMaxFlows - 1, .flows = 0})))->flows == 0);
  REQUIRE_FALSE(decode_hello(body(encode(Hello{.flow = kMaxFlows, .flows = 0}))));
}
