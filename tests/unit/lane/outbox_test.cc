#include "transport/tcp/lane/outbox.h"

#include <array>
#include <catch2/catch.hpp>
#include <cstring>
#include <vector>

#include "tests/copied_payload.h"
#include "transport/tcp/lane/flow_reader.h"
#include "transport/tcp/stack/connection.h"

using namespace tfabric;
using namespace tfabric::lane;
using State = Completion::State;

namespace {

struct NoControls final : ControlSink {
  Status on_control(const RecordHeader&, std::span<const std::byte>) override { return {}; }
};

// A connection and its peer joined by a perfect wire, and the reader at the peer.
struct Pair {
  Pair(NoControls& controls, Inbox& inbox) : reader(controls, &inbox) {}

  std::unique_ptr<stack::Connection> a, b;
  FlowReader reader;

  void carry(stack::Connection& from, std::unique_ptr<stack::Connection>& to, Instant now) {
    stack::SegmentOut out;
    while (from.next_segment(out, now)) {
      std::vector<std::byte> bytes(out.header_size());
      stack::write_header(out, bytes.data());
      for (std::size_t i = 0; i < out.piece_count; ++i) {
        bytes.insert(bytes.end(), out.pieces[i].data, out.pieces[i].data + out.pieces[i].size);
      }
      const auto in = stack::parse_segment(bytes);
      REQUIRE(in.has_value());
      if (to == nullptr) {
        to = stack::Connection::accept(stack::Options{}, test::kCopiedPayload, *in, stack::Seq(77), now);
        continue;
      }
      to->on_segment(*in, now);
      for (auto readable = to->readable(); !readable.empty(); readable = to->readable()) {
        const std::size_t taken = *reader.take(readable);
        to->consume(static_cast<std::uint32_t>(taken));
        if (taken < readable.size()) {
          break;
        }
      }
      to->settle();
    }
  }
  void run(Instant now) {
    for (int i = 0; i < 8; ++i) {
      carry(*a, b, now);
      if (b != nullptr) {
        carry(*b, a, now);
      }
    }
  }
};

}  // namespace

TEST_CASE("messages of all sizes arrive whole over several flows and are done once acknowledged") {
  const std::uint32_t flows = GENERATE(1u, 3u);
  NoControls controls;
  Inbox inbox;
  const Instant now(std::chrono::seconds(5));
  std::vector<std::unique_ptr<Pair>> pairs;
  std::vector<Outlet> outlets;
  for (std::uint32_t i = 0; i < flows; ++i) {
    pairs.push_back(std::make_unique<Pair>(controls, inbox));
    pairs.back()->a =
        stack::Connection::connect(stack::Options{}, test::kCopiedPayload,
                                   {static_cast<std::uint16_t>(1000 + i), 80}, stack::Seq(1), now);
    pairs.back()->run(now);
    REQUIRE(pairs.back()->a->established());
    outlets.push_back({.connection = pairs.back()->a.get()});
  }
  Outbox outbox({.piece_bytes = 16384});
  const std::vector<std::uint32_t> sizes{0, 1, 8, 16, 17, 127, 128, 4096, 100000, 1000003, 0, 3};
  std::vector<std::vector<std::byte>> sent, received;
  std::vector<Completion> send_done(sizes.size()), receive_done(sizes.size());
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    sent.emplace_back(sizes[i]);
    for (std::size_t at = 0; at < sizes[i]; ++at) {
      sent.back()[at] = static_cast<std::byte>(at * 13 + i);
    }
    received.emplace_back(sizes[i] + 64);
    const std::array buffers{transport::ReceiveBuffer{received[i].data(), received[i].size(), 4, nullptr}};
    REQUIRE(inbox.post(buffers, &receive_done[i]));
    REQUIRE(outbox.post(
        {.data = sent[i].data(), .size = sizes[i], .tag = 4, .group = {static_cast<std::uint32_t>(i)}},
        &send_done[i]));
  }
  REQUIRE(outbox.uses(sent[9].data() + 5, 1));
  for (int round = 0; round < 1000 && outbox.outstanding() > 0; ++round) {
    outbox.pump(outlets);
    for (std::uint32_t i = 0; i < flows; ++i) {
      pairs[i]->run(now);
      outbox.on_acked({i}, outlets[i].connection->stream_acked());
    }
  }
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    INFO("message " << i);
    REQUIRE(send_done[i].state == State::done);
    REQUIRE(receive_done[i].state == State::done);
    REQUIRE(receive_done[i].sizes[0] == sizes[i]);
    received[i].resize(sizes[i]);
    REQUIRE(received[i] == sent[i]);
  }
  REQUIRE_FALSE(outbox.uses(sent[9].data(), sent[9].size()));
}

TEST_CASE("what is not done fails with the outbox, and more than fits is refused") {
  Outbox outbox(OutboxOptions{});
  std::vector<Completion> completions(Outbox::kMaxMessages + 1);
  std::byte data[64];
  for (std::size_t i = 0; i < Outbox::kMaxMessages; ++i) {
    REQUIRE(outbox.post({.data = data, .size = sizeof data, .group = {static_cast<std::uint32_t>(i)}},
                        &completions[i]));
  }
  REQUIRE_FALSE(outbox.post({.data = data, .size = sizeof data}, &completions.back()));
  outbox.fail();
  REQUIRE(completions.front().state == State::failed);
  REQUIRE(outbox.outstanding() == 0);
  REQUIRE_FALSE(outbox.uses(data, sizeof data));
}

TEST_CASE("a piece goes to the flow on which it arrives first") {
  Inbox inbox;
  const Instant now(std::chrono::seconds(5));
  std::vector<std::unique_ptr<stack::Connection>> connections;
  std::vector<Outlet> outlets;
  for (std::uint16_t i = 0; i < 4; ++i) {
    connections.push_back(
        stack::Connection::connect(stack::Options{}, test::kCopiedPayload, {i, 80}, stack::Seq(1), now));
    outlets.push_back({.connection = connections.back().get()});
  }
  constexpr std::uint32_t kPiece = 64u << 10;
  std::vector<std::byte> data(100 * kPiece);
  Outbox outbox({.piece_bytes = kPiece});
  Completion completion;
  const auto deal = [&] {
    REQUIRE(outbox.post({.data = data.data(), .size = static_cast<std::uint32_t>(data.size())}, &completion));
    REQUIRE(outbox.pump(outlets));
    std::vector<std::uint64_t> pieces;
    for (const auto& connection : connections) {
      pieces.push_back(connection->stream_written() / kPiece);
    }
    return pieces;
  };
  SECTION("by its share of the rate, a flow of unknown rate like the fastest") {
    outlets[0].rate = 4'000'000;
    outlets[1].rate = 1'000'000;
    outlets[2].rate = 1'000'000;
    const auto pieces = deal();
    CHECK(pieces[0] == pieces[3]);
    CHECK(pieces[0] >= 39);
    CHECK(pieces[1] >= 9);
    CHECK(pieces[1] == pieces[2]);
  }
  SECTION("and one that is to get none gets none") {
    outlets[1].connection = nullptr;
    CHECK(deal() == std::vector<std::uint64_t>{34, 0, 33, 33});
    CHECK(outbox.drained({1}));
    CHECK_FALSE(outbox.drained({0}));
  }
  SECTION("and a slow one none, if the fast ones are done with all before") {
    outlets[0].rate = outlets[1].rate = outlets[2].rate = 100'000'000;
    outlets[3].rate = 1'000'000;
    CHECK(deal() == std::vector<std::uint64_t>{34, 33, 33, 0});
  }
  outbox.fail();
}
