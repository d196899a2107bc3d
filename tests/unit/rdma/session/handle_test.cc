#include "transport/rdma/session/handle.h"

#include <algorithm>
#include <array>
#include <catch2/catch.hpp>

#include "offers.h"
#include "tests/hex.h"

using namespace tfabric;
using namespace tfabric::rdma::session;
using Catch::Contains;

namespace {

using Bytes = std::array<std::byte, transport::kHandleBytes>;
constexpr std::size_t kCheckAt = 36, kAttemptEnd = 48;

Bytes sample_handle() {
  Bytes bytes{};
  write_handle({.token = 0x1122334455667788, .port = 4000, .addresses = {ip("10.0.0.5"), ip("fd00::5")}},
               bytes);
  return bytes;
}

}  // namespace

TEST_CASE("a bootstrap handle reads back as it was written") {
  const auto handle = read_handle(sample_handle());
  REQUIRE(handle.ok());
  REQUIRE(handle->token == 0x1122334455667788);
  REQUIRE(handle->port == 4000);
  REQUIRE(handle->addresses == std::vector{ip("10.0.0.5"), ip("fd00::5")});
  REQUIRE(transport::attempt_of(sample_handle()) == 0);
}

TEST_CASE("a bootstrap handle has the bytes that other builds read") {
  CHECK(hex(sample_handle()) ==
        hex_of("54464142 05 02 0200 8877665544332211 10x00 ffff0a000005 a00f 5800 addf811c 32x00 fd 14x00 05 "
               "40x00"));
}

TEST_CASE("a bootstrap handle holds four addresses, and no byte where NCCL's networks keep their stage") {
  REQUIRE(most_addresses(transport::kHandleRoom) == kMaxHandleAddresses);
  const std::vector all{ip("fd00::5"), ip("fd00::6"), ip("fd00::7"), ip("ffff::ffff")};
  Bytes bytes{};
  write_handle({.token = ~std::uint64_t{0}, .port = 65535, .addresses = all}, bytes);
  REQUIRE(read_handle(bytes)->addresses == all);
  REQUIRE(std::all_of(&bytes[40], &bytes[72], [](std::byte each) { return each == std::byte{0}; }));
}

TEST_CASE("a short bootstrap handle holds two addresses") {
  REQUIRE(most_addresses(transport::kShortHandleRoom) == 2);
  Bytes bytes{};
  write_handle({.token = 5, .port = 4000, .addresses = {ip("fd00::5"), ip("10.0.0.5")}}, bytes);
  std::array<std::byte, transport::kShortHandleBytes> sent{};
  transport::shorten_handle(bytes, sent);
  bytes.fill(std::byte{0xff});
  transport::lengthen_handle(sent, bytes);
  const auto handle = read_handle(bytes);
  REQUIRE(handle.ok());
  REQUIRE(handle->token == 5);
  REQUIRE(handle->addresses == std::vector{ip("fd00::5"), ip("10.0.0.5")});
}

TEST_CASE("the connector's own mark does not invalidate a bootstrap handle") {
  Bytes bytes = sample_handle();
  transport::set_attempt(bytes, 77);
  REQUIRE(transport::attempt_of(bytes) == 77);
  REQUIRE(read_handle(bytes).ok());
}

TEST_CASE("a bootstrap handle with any byte damaged is refused with what to do") {
  for (std::size_t i = 0; i < transport::kHandleBytes; ++i) {
    if (i < kCheckAt + 4 || i >= kAttemptEnd) {
      Bytes bytes = sample_handle();
      bytes[i] ^= std::byte{1};
      INFO("byte " << i);
      REQUIRE(read_handle(bytes).error().code == Errc::invalid_usage);
    }
  }
}

TEST_CASE("the handle of a rank that uses TCP, or another version, is distinguished from a damaged one") {
  Bytes bytes = sample_handle();
  transport::seal_handle({.kind = transport::HandleKind::tcp, .version = 2}, bytes);
  REQUIRE_THAT(read_handle(bytes).error().message, Contains("the peer uses TCP, this host RDMA"));
  transport::seal_handle({.kind = transport::HandleKind::rdma, .version = 9}, bytes);
  REQUIRE_THAT(read_handle(bytes).error().message, Contains("version 9") && Contains("libnccl-net.so"));
  transport::seal_handle({.kind = transport::HandleKind{7}, .version = 1}, bytes);
  REQUIRE_THAT(read_handle(bytes).error().message, Contains("a transport unknown here"));
}

TEST_CASE("a handle with an invalid number of addresses is refused") {
  for (const std::byte count : {std::byte{0}, std::byte{1}, std::byte{5}, std::byte{255}}) {
    Bytes bytes = sample_handle();
    bytes[6] = count;
    transport::seal_handle({.kind = transport::HandleKind::rdma, .version = kProtocolVersion}, bytes);
    REQUIRE(read_handle(bytes).error().code == Errc::invalid_argument);
  }
}
