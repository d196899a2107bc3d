#include "transport/tcp/stack/receive_share.h"

#include <catch2/catch.hpp>
#include <deque>

#include "tests/unit/stack/scripted_peer.h"

using namespace tfabric;
using namespace tfabric::stack;
using namespace tfabric::stack::test;

namespace {

constexpr std::uint32_t kBuffer = 4u << 20;
constexpr Instant kStart{std::chrono::hours(1)};

Options sharing(std::shared_ptr<ReceiveShare> share, std::uint32_t buffer) {
  Options options = ScriptedPeer::plain();
  options.receive_share = std::move(share);
  options.receive_buffer = buffer;
  return options;
}

}  // namespace

TEST_CASE("connections that receive divide what may be under way; those that rest do not count") {
  ReceiveShare share({.under_way = 1 << 20, .held = 1u << 30, .least = 3000});
  std::deque<ReceiveShare::Member> members;
  for (int i = 0; i < 64; ++i) {
    members.emplace_back(&share);
  }
  CHECK(members[0].limit(kBuffer) == 1 << 20);
  CHECK(members[0].limit(1000) == 1000);
  for (int i = 0; i < 4; ++i) {
    members[static_cast<std::size_t>(i)].on_data(kStart);
    members[static_cast<std::size_t>(i)].on_data(kStart);
  }
  CHECK(share.limit() == (1 << 20) / 4);

  SECTION("a while longer, as they may go on") {
    members[0].on_data(kStart + 10ms);
    CHECK(share.limit() == (1 << 20) / 4);
    members[0].on_data(kStart + 20ms);
    CHECK(share.limit() == 1 << 20);
  }
  SECTION("but not after a rest of all") {
    members[0].on_data(kStart + 1s);
    CHECK(share.limit() == 1 << 20);
  }
  SECTION("each has a least share") {
    ReceiveShare narrow({.under_way = 10'000, .held = 1u << 30, .least = 3000});
    std::deque<ReceiveShare::Member> crowd;
    for (int i = 0; i < 64; ++i) {
      crowd.emplace_back(&narrow).on_data(kStart);
    }
    CHECK(narrow.limit() == 3000);
  }
}

TEST_CASE("what slow receivers may make us hold is divided among all connections") {
  ReceiveShare share({.under_way = 1u << 30, .held = 1 << 20, .least = 3000});
  ReceiveShare::Member stays(&share);
  {
    const ReceiveShare::Member second(&share), third(&share), fourth(&share);
    CHECK(stays.limit(kBuffer) == (1 << 20) / 4);
  }
  CHECK(stays.limit(kBuffer) == 1 << 20);
}

TEST_CASE("without a share, the buffer is the bound") {
  ReceiveShare::Member member(nullptr);
  member.on_data(kStart);
  CHECK(member.limit(kBuffer) == kBuffer);
}

TEST_CASE("a window larger than the share is not taken back: it shrinks by what arrives") {
  const auto share = std::make_shared<ReceiveShare>(
      ReceiveShareOptions{.under_way = 20'000, .held = 1u << 30, .least = 2000});
  ScriptedPeer peer(sharing(share, 20'000));
  peer.establish();
  peer.hand(peer.segment(flag::ack, 1000));
  REQUIRE(peer.sent() == "A 1 ack 1001");
  REQUIRE(peer.last().window == 20'000);
  // Another connection begins to receive.
  ReceiveShare::Member other(share.get());
  other.on_data(peer.now());
  for (std::uint32_t arrived = 2000; arrived <= 11'000; arrived += 1000) {
    peer.hand(peer.segment(flag::ack, 1000));
    REQUIRE_FALSE(peer.sent().empty());
    REQUIRE(peer.last().window == 21'000 - arrived);
  }
  peer.hand(peer.segment(flag::ack, 1000));
  REQUIRE_FALSE(peer.sent().empty());
  REQUIRE(peer.last().window == 10'000);

  // When the other rests, the window opens again.
  peer.advance(30ms);
  peer.hand(peer.segment(flag::ack, 1000));
  REQUIRE_FALSE(peer.sent().empty());
  REQUIRE(peer.last().window == 20'000);
}

TEST_CASE("a share that is less than what is unread closes the window, and reading opens it") {
  const auto share =
      std::make_shared<ReceiveShare>(ReceiveShareOptions{.under_way = 8000, .held = 1u << 30, .least = 2000});
  ScriptedPeer peer(sharing(share, 20'000));
  peer.establish();
  peer.reading = false;
  for (int i = 0; i < 8; ++i) {
    peer.hand(peer.segment(flag::ack, 1000));
  }
  REQUIRE(peer.sent() == "A 1 ack 8001");
  REQUIRE(peer.last().window == 0);
  while (!peer.connection().readable().empty()) {
    peer.connection().consume(static_cast<std::uint32_t>(peer.connection().readable().size()));
  }
  REQUIRE(peer.sent() == "A 1 ack 8001");
  REQUIRE(peer.last().window == 8000);
}
