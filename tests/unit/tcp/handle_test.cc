#include <array>
#include <catch2/catch.hpp>

#include "transport/tcp/session/handshake.h"

using namespace tfabric;
using namespace tfabric::tcp;

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
