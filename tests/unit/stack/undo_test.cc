// Recoveries that were needless: RFC 3708 by D-SACK, RFC 3522 by timestamps.
#include "transport/tcp/stack/undo.h"

#include <catch2/catch.hpp>

#include "tests/unit/stack/scripted_peer.h"

using namespace tfabric;
using namespace tfabric::stack;
using namespace tfabric::stack::test;

namespace {

struct Undone {
  explicit Undone(bool timestamps) : peer(options(timestamps)) {
    peer.establish();
    peer.write(10'000);
    peer.ts_ecr = timestamp_now();
    peer.sent();
    peer.advance(10ms);
  }
  static Options options(bool timestamps) {
    Options options = ScriptedPeer::plain();
    options.sack = true;
    options.timestamps = timestamps;
    options.mss = timestamps ? 1012 : 1000;
    return options;
  }
  [[nodiscard]] std::uint32_t timestamp_now() const { return timestamp(peer.now()); }
  ScriptedPeer peer;
};

}  // namespace

TEST_CASE("a fast retransmission whose every byte has arrived twice gives the window back") {
  Undone flight(/*timestamps=*/false);
  ScriptedPeer& peer = flight.peer;
  peer.report(0, {{2000, 10'000}});
  REQUIRE(peer.sent() == "A 1:1001 ack 1, A 1001:2001 ack 1");
  REQUIRE(peer.connection().info().cwnd == 7000);
  peer.advance(10ms);
  peer.acknowledge(10'000);
  peer.report(10'000, {{0, 1000}});
  REQUIRE(peer.connection().info().cwnd == 7000);  // one of two
  peer.report(10'000, {{1000, 2000}});
  REQUIRE(peer.connection().info().cwnd == 10'000);
  REQUIRE(peer.connection().info().undone == 1);
}

TEST_CASE("reports of duplicates that have nothing to do with the recovery do not undo it") {
  Undone flight(/*timestamps=*/false);
  ScriptedPeer& peer = flight.peer;
  peer.acknowledge(5000);
  peer.report(5000, {{6000, 10'000}});
  REQUIRE(peer.sent() == "A 5001:6001 ack 1");
  peer.report(10'000, {{3000, 4000}});
  REQUIRE(peer.connection().info().undone == 0);
}

TEST_CASE("a report that the very byte has arrived twice which the peer waits for undoes nothing") {
  Undone flight(/*timestamps=*/false);
  ScriptedPeer& peer = flight.peer;
  peer.acknowledge(2000);
  REQUIRE(peer.run(300ms).find("A 2001:3001 ack 1") != std::string::npos);
  peer.report(1000, {{2000, 3000}, {1500, 9000}});
  REQUIRE(peer.connection().info().undone == 0);
  REQUIRE(peer.sent().empty());
}

TEST_CASE("an answer older than the repetition ends the recovery and gives the window back") {
  Undone flight(/*timestamps=*/true);
  ScriptedPeer& peer = flight.peer;
  const std::uint32_t of_original = peer.ts_ecr;
  peer.report(0, {{1000, 5000}});
  REQUIRE(peer.sent() == "A 1:1001 ack 1");
  REQUIRE(peer.connection().info().cwnd == 7000);
  peer.advance(2ms);

  SECTION("the original was late") {
    peer.ts_ecr = of_original;
    peer.report(5000, {});
    REQUIRE(peer.connection().info().undone == 1);
    REQUIRE(peer.connection().info().cwnd >= 10'120);
  }
  SECTION("the repetition has arrived") {
    peer.ts_ecr = of_original + 10;
    peer.report(5000, {});
    REQUIRE(peer.connection().info().undone == 0);
    REQUIRE(peer.connection().info().cwnd == 7000);
  }
}

TEST_CASE("a time-out is undone by timestamps, and what was thought lost is not sent again") {
  Undone flight(/*timestamps=*/true);
  ScriptedPeer& peer = flight.peer;
  const std::uint32_t of_original = peer.ts_ecr;
  std::string text;
  while (peer.connection().info().timeouts == 0) {
    text = peer.run(peer.connection().next_deadline() - peer.now());
  }
  REQUIRE(text == "A 1:1001 ack 1");
  REQUIRE(peer.connection().info().cwnd == 1012);
  peer.ts_ecr = of_original;
  peer.acknowledge(1000);
  REQUIRE(peer.connection().info().undone == 1);
  REQUIRE(peer.connection().info().cwnd >= 10'120);
  REQUIRE(peer.sent().empty());
}

TEST_CASE("a time-out that is undone before anything is sent again leaves a timer running") {
  Options options = ScriptedPeer::plain();
  options.sack = true;
  ScriptedPeer peer(options);
  peer.establish();
  peer.write(2000);
  peer.sent();
  while (peer.connection().info().timeouts == 0) {
    peer.run(peer.connection().next_deadline() - peer.now());
  }
  peer.report(0, {{1000, 2000}});
  peer.sent();
  while (peer.connection().info().timeouts == 1) {
    peer.advance(peer.connection().next_deadline() - peer.now());
  }
  // The network has doubled the second segment, which looks as if all repetitions had been needless.
  peer.report(0, {{1000, 2000}, {1000, 2000}});
  REQUIRE(peer.connection().info().undone == 1);
  REQUIRE(peer.sent().empty());
  REQUIRE_THAT(peer.run(2s), Catch::StartsWith("A 1:1001 ack 1"));
}
