// Which lane gets how much of a message, and when: Dealer, as Outbox uses it.
#include <catch2/catch.hpp>
#include <vector>

#include "tests/unit/stripe/open_lanes.h"
#include "transport/stripe/outbox.h"

using namespace tfabric;
using namespace tfabric::stripe;

TEST_CASE("a piece goes to the lane on which it arrives first") {
  constexpr std::uint32_t kPiece = 64u << 10;
  OpenLanes open(4, kPiece);
  const std::vector<std::byte> data(std::size_t{100} * kPiece);
  Outbox outbox({.waits_for_receives = false});
  Completion completion;
  const auto deal = [&] {
    outbox.post(message_of(data, 0), &completion);
    REQUIRE(outbox.pump(open.outlets));
    std::vector<std::size_t> pieces;
    for (std::size_t i = 0; i < open.lanes.size(); ++i) {
      pieces.push_back(open.given(i).size());
    }
    return pieces;
  };
  const auto rates = [&](const std::vector<std::uint64_t>& in_order) {
    for (std::size_t i = 0; i < in_order.size(); ++i) {
      open.outlets[i].rate = in_order[i] * 1'000'000;
    }
  };
  SECTION("by its share of the rate") {
    rates({400, 100, 100, 400});
    CHECK(deal() == std::vector<std::size_t>{40, 10, 10, 40});
  }
  SECTION("and one that is to get none gets none") {
    rates({100, 100, 100, 100});
    open.outlets[1].lane = nullptr;
    CHECK(deal() == std::vector<std::size_t>{34, 0, 33, 33});
    CHECK(outbox.drained({1}));
    CHECK_FALSE(outbox.drained({0}));
  }
  SECTION("and a slow one none, if the fast ones are done with all before") {
    rates({10'000, 10'000, 10'000, 1});
    CHECK(deal() == std::vector<std::size_t>{34, 33, 33, 0});
  }
  SECTION("and one that is far away gets what would wait longer elsewhere") {
    rates({1000, 1000, 1000, 1000});
    // Ten pieces of 65.5 us are before it on each of the others.
    open.outlets[2].latency = open.outlets[3].latency = 10.5 * 65.536e-6;
    const auto pieces = deal();
    CHECK(pieces[0] + pieces[1] == pieces[2] + pieces[3] + 20);
  }
  SECTION("and waits for that lane if it has no room") {
    rates({1000, 1, 1, 1});
    open.lanes[0]->limit = 3 * kPiece;
    CHECK(deal() == std::vector<std::size_t>{3, 0, 0, 0});
  }
  outbox.fail();
}

namespace {

std::uint64_t bytes_of(const std::vector<FakeLane::Given>& given) {
  std::uint64_t bytes = 0;
  for (const FakeLane::Given& each : given) {
    bytes += each.piece.length;
  }
  return bytes;
}

}  // namespace

TEST_CASE("a small message goes by the way that is near, however much a quick and far one could carry") {
  OpenLanes open(2);
  open.outlets[0] = {.lane = open.lanes[0].get(), .rate = 10'000'000'000, .latency = 200e-6};
  open.outlets[1] = {.lane = open.lanes[1].get(), .rate = 1'000'000'000, .latency = 2e-6};
  const std::vector<std::byte> data(8);
  Outbox outbox({.waits_for_receives = false});
  Completion completion;
  outbox.post(message_of(data, 0), &completion);
  REQUIRE(outbox.pump(open.outlets));
  CHECK(open.given(1).size() == 1);
  outbox.fail();
}

namespace {

// A lane that takes only messages of groups before `announced`, whole, as a queue pair does.
struct PlacingLane final : Lane {
  [[nodiscard]] LaneRoom look(const Outgoing& message) const override {
    return {.room = 1u << 30, .takes = message.group.precedes(announced)};
  }
  std::optional<Span> give(const Piece& piece) override {
    given.push_back(piece.message->group.value);
    return Span{given.size() - 1, given.size(), /*whole=*/true};
  }
  GroupId announced;
  std::vector<std::uint32_t> given;
};

}  // namespace

TEST_CASE("a lane that does not know where a message goes is passed over, and gets it once it does") {
  OpenLanes open(1);
  PlacingLane placing;
  open.outlets.push_back({.lane = &placing, .rate = 1'000'000'000});
  open.outlets[0].rate = 1'000'000;
  const std::vector<std::byte> data(1000);
  Outbox outbox({.waits_for_receives = false});
  std::vector<Completion> completions(2);
  outbox.post(message_of(data, 0), &completions[0]);
  SECTION("another lane takes it") {
    REQUIRE(outbox.pump(open.outlets));
    CHECK(open.given(0).size() == 1);
    CHECK(placing.given.empty());
  }
  SECTION("alone, it is waited for") {
    open.outlets[0].lane = nullptr;
    CHECK_FALSE(outbox.pump(open.outlets));
    placing.announced = {1};
    CHECK(outbox.pump(open.outlets));
    CHECK(placing.given == std::vector<std::uint32_t>{0});
    outbox.on_confirmed({1}, 1);
    CHECK(completions[0].state == Completion::State::done);
  }
  outbox.fail();
}

TEST_CASE("a lane of unknown rate counts as the fastest, and gets little until its rate is known") {
  OpenLanes open(2);
  const std::vector<std::byte> data(64u << 20);
  Outbox outbox({.waits_for_receives = false});
  Completion completion;
  outbox.post(message_of(data, 0), &completion);
  SECTION("beside one whose rate is known") {
    open.outlets[0].rate = 50'000'000;  // a slow rail; the other one may be as slow
    REQUIRE(outbox.pump(open.outlets));
    CHECK(bytes_of(open.given(1)) == 128u << 10);
    CHECK(bytes_of(open.given(0)) == data.size() - (128u << 10));
  }
  SECTION("beside others of unknown rate") {
    REQUIRE(outbox.pump(open.outlets));
    CHECK(bytes_of(open.given(0)) <= 128u << 10);
    CHECK(bytes_of(open.given(1)) <= 128u << 10);
    const auto before = bytes_of(open.given(0));
    open.lanes[0]->confirm(open.given(0).back().span.end);
    REQUIRE(outbox.pump(open.outlets));
    CHECK(bytes_of(open.given(0)) > before);
  }
  outbox.fail();
}

TEST_CASE("pieces are as large as their lane is quick, and a probe goes where nothing else would") {
  OpenLanes open(2);
  open.outlets[0].rate = 1'000'000'000;
  open.outlets[1].rate = 20'000'000;
  const std::vector<std::byte> large(16u << 20), single(256u << 10);
  Outbox outbox({.waits_for_receives = false});
  std::vector<Completion> completions(2);
  SECTION("a hundredth of a message's time on each lane") {
    outbox.post(message_of(large, 0), &completions[0]);
    REQUIRE(outbox.pump(open.outlets));
    CHECK(open.given(0).front().piece.length == 512u << 10);
    REQUIRE_FALSE(open.given(1).empty());
    for (const auto& given : open.given(1)) {
      CHECK(given.piece.length <= 40'000);
    }
  }
  SECTION("a probe") {
    outbox.post(message_of(single, 0), &completions[0]);
    REQUIRE(outbox.pump(open.outlets));
    CHECK(open.given(1).empty());
    open.outlets[1].probe = true;
    outbox.post(message_of(single, 1), &completions[1]);
    REQUIRE(outbox.pump(open.outlets));
    REQUIRE(open.given(1).size() == 1);
    CHECK(open.given(1)[0].piece.length <= 40'000);
    CHECK_FALSE(open.outlets[1].probe);
  }
  outbox.fail();
}

TEST_CASE("a lane alone gets a message in one piece, and several get pieces of whole lines") {
  OpenLanes open(2, 4096);
  open.outlets[0].rate = open.outlets[1].rate = 1'000'000'000;
  const std::vector<std::byte> data(1'000'001);
  Outbox outbox({.waits_for_receives = false});
  Completion completion;
  outbox.post(message_of(data, 0), &completion);
  SECTION("one piece") {
    open.outlets[0].lane = nullptr;
    REQUIRE(outbox.pump(open.outlets));
    REQUIRE(open.given(1).size() == 1);
    CHECK(open.given(1)[0].piece.length == data.size());
  }
  SECTION("pieces, however little room a lane has") {
    open.lanes[0]->limit = 40'001;
    open.lanes[1]->limit = 50'003;
    REQUIRE(outbox.pump(open.outlets));
    for (std::size_t i = 0; i < 2; ++i) {
      for (const auto& given : open.given(i)) {
        CHECK(given.piece.offset % kLineBytes == 0);
        CHECK(given.piece.length == 4096);
      }
    }
  }
  SECTION("a lane that refuses a piece in spite of its room ends the dealing, and loses nothing") {
    open.lanes[0]->pieces = 1;
    open.lanes[1]->pieces = 0;
    REQUIRE(outbox.pump(open.outlets));
    REQUIRE_FALSE(outbox.pump(open.outlets));
    open.lanes[1]->pieces = ~0u;
    REQUIRE(outbox.pump(open.outlets));
    CHECK(open.given(1)[0].piece.offset == 4096);
  }
  outbox.fail();
}

TEST_CASE("a message whose receive may not be posted is dealt whole, however small the pieces are") {
  OpenLanes open(2, 4096);
  const std::vector<std::byte> data(kMaxEagerBytes);
  Outbox outbox(OutboxOptions{});
  Completion completion;
  outbox.post(message_of(data, 0), &completion);
  SECTION("whole, if at all, while it is early") {
    outbox.pump(open.outlets);
    for (std::size_t i = 0; i < 2; ++i) {
      for (const auto& given : open.given(i)) {
        CHECK(given.piece.length == data.size());
      }
    }
  }
  SECTION("at the latest when its receive is posted, in any pieces") {
    outbox.allow({1});
    REQUIRE(outbox.pump(open.outlets));
    CHECK_FALSE(outbox.pump(open.outlets));
  }
  outbox.fail();
}

TEST_CASE(
    "only small messages are dealt before their receives, for a window of them, and those behind wait") {
  OpenLanes open(1);
  const std::vector<std::byte> small(100), large(kMaxEagerBytes + 1);
  Outbox outbox(OutboxOptions{});
  std::vector<Completion> completions(100);
  const auto post = [&](std::uint32_t group, const std::vector<std::byte>& data) {
    outbox.post(message_of(data, group), &completions[group]);
  };
  const auto dealt = [&] {
    outbox.pump(open.outlets);
    return open.given(0).size();
  };
  SECTION("a window of small ones") {
    for (std::uint32_t group = 0; group < 100; ++group) {
      post(group, small);
    }
    CHECK(dealt() == kEagerWindow);
    outbox.allow({5});
    CHECK(dealt() == kEagerWindow + 5);
    outbox.allow({3});  // late
    CHECK(dealt() == kEagerWindow + 5);
    outbox.allow({100});
    CHECK(dealt() == 100);
  }
  SECTION("a large one waits, with all behind it") {
    post(0, small);
    post(1, large);
    post(2, small);
    CHECK(dealt() == 1);
    outbox.allow({1});
    CHECK(dealt() == 1);
    outbox.allow({2});
    CHECK(dealt() == 3);
  }
  outbox.fail();
}
