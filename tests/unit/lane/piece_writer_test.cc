#include "transport/lane/piece_writer.h"

#include <array>
#include <catch2/catch.hpp>
#include <chrono>
#include <cstring>
#include <vector>

#include "tests/copied_payload.h"
#include "transport/lane/record.h"

using namespace tfabric;
using namespace tfabric::lane;

namespace {

const Instant kNow(std::chrono::seconds(5));

std::unique_ptr<stack::Connection> connection(std::uint32_t send_buffer = 8u << 20) {
  stack::Options options;
  options.send_buffer = send_buffer;
  return stack::Connection::connect(options, test::kCopiedPayload, {1000, 80}, Seq(1), kNow);
}

}  // namespace

TEST_CASE("a piece takes the positions of its bytes in the stream, behind its header") {
  const std::uint32_t length = GENERATE(0u, 1u, 40u, 41u, 128u, 1023u, 1024u, 100000u);
  const auto stream = connection();
  const std::vector<std::byte> data(200000);
  const stripe::Outgoing message{
      .data = data.data(), .size = 128 + length, .tag = 7, .group = {3}, .index = {1}};
  const auto first = write_piece(*stream, {&message, 0, 128});
  REQUIRE(first.has_value());
  CHECK(first->begin == kRecordHeaderBytes);
  CHECK(first->end == kRecordHeaderBytes + 128);
  const auto second = write_piece(*stream, {&message, 128, length});
  REQUIRE(second.has_value());
  CHECK(second->begin == first->end + (length < kLargePiece ? 24 : 64));
  CHECK(second->end == second->begin + length);
  CHECK(stream->stream_written() == second->end);
  CHECK(room_for_pieces(*stream).queued == second->end);
}

TEST_CASE("a lane takes no more than it says, and nothing of a piece for which its queue has no entries") {
  const auto stream = connection(64u << 10);
  const std::vector<std::byte> data(64u << 10);
  const std::uint32_t room = room_for_pieces(*stream).room;
  CHECK(room == (64u << 10) - kLargePieceHeaderBytes);
  stripe::Outgoing message{.data = data.data(), .size = room};
  REQUIRE(write_piece(*stream, {&message, 0, room}).has_value());
  CHECK(room_for_pieces(*stream).room == 0);
  const auto many = connection();
  message.size = 41;
  while (write_piece(*many, {&message, 0, 41})) {
  }
  const std::uint64_t written = many->stream_written();
  CHECK_FALSE(write_piece(*many, {&message, 0, 41}));
  CHECK(many->stream_written() == written);
  CHECK(room_for_pieces(*many).room > 0);
}
