#include "transport/rdma/session/message.h"

#include <algorithm>
#include <catch2/catch.hpp>

#include "tests/hex.h"

using namespace tfabric;
using namespace tfabric::rdma::session;
using Catch::Contains;

namespace {

constexpr std::uint64_t kKnownToken = 0x0102030405060708;
constexpr std::size_t kVersionAt = 4, kTypeAt = 5, kTokenAt = 8, kLengthAt = 16;

std::vector<std::byte> sample_message() {
  return encode(kKnownToken, MessageType::offer, std::vector(5, std::byte{7}));
}

// Returns the reader's error for the bytes, fed in pieces of at most `piece`.
Status feed(MessageReader& reader, std::span<const std::byte> bytes, std::size_t piece) {
  while (!bytes.empty() && reader.wanted() > 0) {
    const std::size_t count = std::min({piece, reader.wanted(), bytes.size()});
    if (Status status = reader.take(bytes.first(count)); !status) {
      return status;
    }
    bytes = bytes.subspan(count);
  }
  return {};
}

std::string fault_of(const std::vector<std::byte>& bytes) {
  MessageReader reader(kKnownToken);
  const Status status = feed(reader, bytes, SIZE_MAX);
  return status ? "" : status.error().message;
}

std::vector<std::byte> damaged(std::size_t at) {
  std::vector<std::byte> bytes = sample_message();
  bytes[at] ^= std::byte{0x80};
  return bytes;
}

}  // namespace

TEST_CASE("a message has the bytes that other builds read") {
  CHECK(hex(encode(kKnownToken, MessageType::offer, std::vector(2, std::byte{7}), 0x0a0b)) ==
        hex_of("54465242 05 01 0b0a 0807060504030201 02000000 0707"));
}

TEST_CASE("a message is put together from pieces of any size, and the next one after it") {
  for (std::size_t piece = 1; piece <= sample_message().size(); ++piece) {
    INFO("pieces of " << piece);
    MessageReader reader(kKnownToken);
    for (int i = 0; i < 2; ++i) {
      REQUIRE_FALSE(reader.next().has_value());
      REQUIRE(feed(reader, sample_message(), piece).ok());
      REQUIRE(reader.wanted() == 0);
      const auto message = reader.next();
      REQUIRE(message->type == MessageType::offer);
      REQUIRE(message->body == std::vector(5, std::byte{7}));
    }
  }
}

TEST_CASE("flags that are not known are passed on, and harm nothing") {
  MessageReader reader(kKnownToken);
  const auto bytes = encode(kKnownToken, MessageType::offer, std::vector(5, std::byte{7}), 0xfffe);
  REQUIRE(feed(reader, bytes, SIZE_MAX).ok());
  REQUIRE(reader.next()->flags == 0xfffe);
}

TEST_CASE("a message without a body is complete with its header") {
  MessageReader reader(kKnownToken);
  REQUIRE(feed(reader, encode(kKnownToken, MessageType::ready, {}), 1).ok());
  REQUIRE(reader.next()->type == MessageType::ready);
}

TEST_CASE("data that is no message is recognised by its first four bytes") {
  MessageReader reader(kKnownToken);
  const std::string text = "GET ";
  REQUIRE_THAT(reader.take(std::as_bytes(std::span(text))).error().message,
               Contains("not speak tfabric's RDMA bootstrap protocol"));
}

TEST_CASE("a message of another version, without the token, of no known type or too long is refused") {
  REQUIRE_THAT(fault_of(damaged(kVersionAt)), Contains("version") && Contains("libnccl-net.so"));
  REQUIRE_THAT(fault_of(damaged(kTypeAt)), Contains("is invalid"));
  for (std::size_t i = 0; i < sizeof kKnownToken; ++i) {
    REQUIRE_THAT(fault_of(damaged(kTokenAt + i)), Contains("token"));
  }
  REQUIRE_THAT(fault_of(damaged(kLengthAt + 3)), Contains("is invalid"));
  REQUIRE_THAT(fault_of(damaged(kLengthAt + 1)), Contains("is invalid"));
}

TEST_CASE("each type of message has its own greatest length") {
  REQUIRE(
      fault_of(encode(kKnownToken, MessageType::answer, std::vector(kMaxOfferBytes, std::byte{0}))).empty());
  REQUIRE(fault_of(encode(kKnownToken, MessageType::failure, std::vector(kMaxFailureBytes, std::byte{0})))
              .empty());
  std::vector<std::byte> ready = encode(kKnownToken, MessageType::ready, {});
  ready[kLengthAt] = std::byte{1};
  REQUIRE_THAT(fault_of(ready), Contains("is invalid"));
}
