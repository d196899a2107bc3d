#include "transport/lane/flow_reader.h"

#include <array>
#include <catch2/catch.hpp>
#include <cstring>
#include <random>
#include <vector>

#include "transport/lane/record.h"

using namespace tfabric;
using namespace tfabric::lane;
using stripe::Completion;
using stripe::Inbox;

namespace {

struct Controls final : ControlSink {
  std::vector<std::vector<std::byte>> bodies;
  Status on_control(const RecordHeader&, std::span<const std::byte> body) override {
    bodies.emplace_back(body.begin(), body.end());
    return {};
  }
};

void append(std::vector<std::byte>& stream, const RecordHeader& header, std::span<const std::byte> body) {
  const auto bytes = encode(header);
  stream.insert(stream.end(), bytes.begin(), bytes.end());
  stream.resize(stream.size() + header_bytes_of(header) - bytes.size());
  stream.insert(stream.end(), body.begin(), body.end());
}

}  // namespace

TEST_CASE("records are read the same however the stream is cut") {
  std::vector<std::byte> message(2500);
  for (std::size_t i = 0; i < message.size(); ++i) {
    message[i] = static_cast<std::byte>(i * 31);
  }
  std::vector<std::byte> stream;
  const auto part = [&](std::uint32_t group, std::uint32_t offset, std::uint32_t length,
                        std::uint32_t total) {
    append(stream,
           {.type = RecordType::piece, .group = {group}, .length = length, .total = total, .offset = offset},
           std::span(message).subspan(offset, length));
  };
  append(stream, {.type = RecordType::hello, .length = 5}, std::span(message).first(5));
  part(0, 1152, 1348, 2500);
  part(1, 0, 0, 0);
  part(0, 0, 1152, 2500);
  append(stream, {.type = RecordType::announce, .length = 0}, {});
  part(2, 0, 77, 77);

  const unsigned seed = GENERATE(1u, 2u, 3u, 4u, 5u);
  INFO("seed " << seed);
  std::mt19937 random(seed);
  Controls controls;
  Inbox inbox;
  std::array<std::vector<std::byte>, 3> memory;
  std::array<Completion, 3> completions;
  for (std::size_t i = 0; i < 3; ++i) {
    memory[i].resize(message.size());
    const std::array buffers{transport::ReceiveBuffer{memory[i].data(), message.size(), 0, nullptr}};
    REQUIRE(*inbox.post(buffers, &completions[i]));
  }
  FlowReader reader(controls, &inbox);
  for (std::size_t at = 0; at < stream.size();) {
    const std::size_t n = std::min<std::size_t>(1 + random() % 90, stream.size() - at);
    REQUIRE(reader.take(std::span(stream).subspan(at, n)).ok());
    at += n;
  }
  for (const Completion& completion : completions) {
    REQUIRE(completion.state == Completion::State::done);
  }
  REQUIRE(memory[0] == message);
  REQUIRE(std::memcmp(memory[2].data(), message.data(), 77) == 0);
  REQUIRE(controls.bodies.size() == 2);
  REQUIRE(controls.bodies[0].size() == 5);
}

TEST_CASE("data for a receive that is not posted is set aside, and nothing behind it waits") {
  Controls controls;
  Inbox inbox;
  FlowReader reader(controls, &inbox);
  std::vector<std::byte> stream;
  const std::array<std::byte, 4> data{std::byte{1}, std::byte{2}, std::byte{3}, std::byte{4}};
  append(stream, {.type = RecordType::piece, .length = 4, .total = 4}, data);
  append(stream, {.type = RecordType::piece, .group = {1}}, {});
  append(stream, {.type = RecordType::settled, .length = 4}, data);
  REQUIRE(reader.take(stream).ok());
  REQUIRE(controls.bodies.size() == 1);
  std::array<std::byte, 4> memory{};
  const std::array buffers{transport::ReceiveBuffer{memory.data(), memory.size(), 0, nullptr}};
  Completion first, second;
  REQUIRE(*inbox.post(buffers, &first));
  REQUIRE(first.state == Completion::State::done);
  REQUIRE(memory == data);
  REQUIRE(*inbox.post(buffers, &second));
  REQUIRE(second.state == Completion::State::done);
}

TEST_CASE("a stream that is buried ends at the last whole line of its piece, and takes nothing more") {
  const std::uint32_t total = GENERATE(1000u, 2000u);
  std::vector<std::byte> message(total, std::byte{7}), memory(total);
  Inbox inbox;
  Controls controls;
  Completion completion;
  const std::array buffers{transport::ReceiveBuffer{memory.data(), memory.size(), 0, nullptr}};
  REQUIRE(*inbox.post(buffers, &completion));
  std::vector<std::byte> stream;
  append(stream, {.type = RecordType::settled, .length = 4}, std::span(message).first(4));
  append(stream, {.type = RecordType::piece, .length = total, .total = total}, message);
  const std::size_t begin = stream.size() - total;
  const int beyond = GENERATE(-100, -65, -63, -25, -24, -23, -1, 0, 1, 127, 128, 129, 999);
  const std::size_t taken = begin + static_cast<std::size_t>(std::max(beyond, -static_cast<int>(begin)));
  INFO("bytes taken " << taken);
  FlowReader dying(controls, &inbox);
  REQUIRE(dying.take(std::span(stream).first(taken)).ok());
  const std::uint64_t position = dying.bury();
  CHECK(position <= std::max<std::uint64_t>(taken, 28));
  const std::size_t there = position > begin ? position - begin : 0;
  CHECK(there == (taken > begin ? (taken - begin) / 128 * 128 : 0));
  CHECK_FALSE(dying.take(stream).ok());
  // The rest comes by another lane.
  const auto offset = static_cast<std::uint32_t>(there);
  std::vector<std::byte> rest;
  append(rest, {.type = RecordType::piece, .length = total - offset, .total = total, .offset = offset},
         std::span(message).subspan(offset));
  FlowReader next(controls, &inbox);
  REQUIRE(next.take(rest).ok());
  CHECK(completion.state == Completion::State::done);
  CHECK(memory == message);
}

TEST_CASE("a message that was being set aside when its stream was buried comes again") {
  std::vector<std::byte> message(300, std::byte{7}), memory(300), stream;
  append(stream, {.type = RecordType::piece, .length = 300, .total = 300}, message);
  Inbox inbox;
  Controls controls;
  FlowReader dying(controls, &inbox), next(controls, &inbox);
  REQUIRE(dying.take(std::span(stream).first(stream.size() - 1)).ok());
  CHECK(dying.bury() == kRecordHeaderBytes);
  REQUIRE(next.take(stream).ok());
  Completion completion;
  const std::array buffers{transport::ReceiveBuffer{memory.data(), memory.size(), 0, nullptr}};
  REQUIRE(*inbox.post(buffers, &completion));
  CHECK(completion.state == Completion::State::done);
  CHECK(memory == message);
}

TEST_CASE("garbage, and data on a comm that only sends, are errors") {
  Controls controls;
  std::vector<std::byte> stream(kRecordHeaderBytes, std::byte{0x5a});
  REQUIRE_FALSE(FlowReader(controls, nullptr).take(stream).ok());
  stream.clear();
  append(stream, {.type = RecordType::piece}, {});
  REQUIRE_FALSE(FlowReader(controls, nullptr).take(stream).ok());
}

TEST_CASE("a piece that is repeated on another flow ends the comm before a byte of it is written") {
  Controls controls;
  Inbox inbox;
  std::array<std::byte, 256> memory{};
  const std::array buffers{transport::ReceiveBuffer{memory.data(), memory.size(), 0, nullptr}};
  Completion completion;
  REQUIRE(*inbox.post(buffers, &completion));
  std::vector<std::byte> first, second;
  std::array<std::byte, 128> other;
  other.fill(std::byte{1});
  append(first, {.type = RecordType::piece, .length = 128, .total = 256}, std::array<std::byte, 128>{});
  append(second, {.type = RecordType::piece, .length = 128, .total = 256}, other);
  FlowReader one(controls, &inbox), two(controls, &inbox);
  REQUIRE(one.take(first).ok());
  REQUIRE_FALSE(two.take(second).ok());
  REQUIRE(completion.state == Completion::State::pending);
  REQUIRE(memory == std::array<std::byte, 256>{});
}

TEST_CASE("a reader knows whether its stream ends within a record") {
  Controls controls;
  Inbox inbox;
  std::array<std::byte, 4> memory{};
  const std::array buffers{transport::ReceiveBuffer{memory.data(), memory.size(), 0, nullptr}};
  Completion completion;
  REQUIRE(*inbox.post(buffers, &completion));
  std::vector<std::byte> stream;
  append(stream, {.type = RecordType::piece, .length = 4, .total = 4}, memory);
  FlowReader reader(controls, &inbox);
  for (std::size_t i = 0; i < stream.size(); ++i) {
    CHECK(reader.mid_record() == (i > 0));
    REQUIRE(reader.take(std::span(stream).subspan(i, 1)).ok());
  }
  CHECK_FALSE(reader.mid_record());
}

TEST_CASE("a reader repeats its error, also to a comm that takes it over afterwards") {
  Controls controls;
  Inbox inbox;
  std::vector<std::byte> stream;
  append(stream, {.type = RecordType::hello, .length = 0}, {});
  stream.resize(stream.size() + kRecordHeaderBytes, std::byte{0x5a});
  FlowReader reader(controls, nullptr);
  REQUIRE_FALSE(reader.take(stream).ok());
  reader.attach(controls, &inbox);
  const auto again = reader.take({});
  REQUIRE_FALSE(again.ok());
  REQUIRE_THAT(again.error().message, Catch::Contains("lost its framing"));
}

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
  REQUIRE_FALSE(decode(encode({.type = static_cast<RecordType>(0)})));
  REQUIRE(decode(encode({.type = static_cast<RecordType>(kLastRecordType)})));
  REQUIRE(decode(encode({.type = RecordType::piece})));
}
