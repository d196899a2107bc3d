#include "transport/tcp/stack/duplicate_acks.h"

#include <catch2/catch.hpp>

#include "tests/unit/stack/scripted_peer.h"

using namespace tfabric;
using namespace tfabric::stack;
using namespace tfabric::stack::test;

namespace {

SentSegments in_flight(std::initializer_list<std::uint32_t> sizes) {
  SentSegments segments;
  std::uint64_t at = 0;
  for (const std::uint32_t size : sizes) {
    segments.add(at, size, Instant(1s));
    at += size;
  }
  return segments;
}

// An open connection to a peer without SACK, with segments of these sizes in flight.
void send(ScriptedPeer& peer, std::initializer_list<std::uint32_t> sizes) {
  peer.establish();
  for (const std::uint32_t size : sizes) {
    peer.write(size);
    peer.sent();
  }
}

}  // namespace

TEST_CASE("each duplicate acknowledgement tells of one segment behind the missing one, as large as it is") {
  const SentSegments segments = in_flight({1000, 10, 20, 400});
  DuplicateAcks duplicates;
  REQUIRE(duplicates.on_duplicate(segments) == 10);
  REQUIRE(duplicates.on_duplicate(segments) == 20);
  REQUIRE(duplicates.reported() == 30);
  REQUIRE(duplicates.count() == 2);
  REQUIRE(duplicates.reported(0, 1005) == 5);
  REQUIRE(duplicates.reported(0, 1430) == 30);
}

TEST_CASE("duplicate acknowledgements never tell of more than was sent") {
  const SentSegments segments = in_flight({1000, 10, 20});
  DuplicateAcks duplicates;
  for (int i = 0; i < 10; ++i) {
    duplicates.on_duplicate(segments);
  }
  REQUIRE(duplicates.reported() == 30);
}

TEST_CASE("behind a partial acknowledgement another segment is missing, and as many have arrived") {
  SentSegments segments = in_flight({100, 200, 300, 400, 500});
  DuplicateAcks duplicates;
  duplicates.on_duplicate(segments);
  duplicates.on_duplicate(segments);
  REQUIRE(duplicates.reported() == 500);
  segments.remove_first();
  segments.remove_first();
  duplicates.on_partial_ack(segments, 300);
  REQUIRE(duplicates.reported() == 400);  // 200 has arrived, 300 has not, so 400 has
  segments.remove_first();
  segments.remove_first();
  duplicates.on_partial_ack(segments, 1000);
  REQUIRE(duplicates.reported() == 0);
}

TEST_CASE("a hole that is filled in pieces takes back nothing that was reported") {
  SentSegments segments = in_flight({1000, 200, 300});
  DuplicateAcks duplicates;
  duplicates.on_duplicate(segments);
  segments.trim_first(400);
  duplicates.on_partial_ack(segments, 400);
  REQUIRE(duplicates.reported() == 200);
}

TEST_CASE("a duplicate acknowledgement for a tiny segment makes no room for a full one") {
  ScriptedPeer peer(ScriptedPeer::plain());
  send(peer, {1000, 10, 10, 10, 10});
  peer.write(20'000);
  peer.sent();
  REQUIRE(peer.connection().info().pipe == 9040);
  peer.acknowledge(0);
  peer.acknowledge(0);
  REQUIRE(peer.sent().empty());
  REQUIRE(peer.connection().info().pipe == 9020);
}

TEST_CASE("while a time-out is repaired, duplicate acknowledgements let nothing more out") {
  ScriptedPeer peer(ScriptedPeer::plain());
  send(peer, {10'000});
  REQUIRE(peer.run(200ms) == "A 1:1001 ack 1");
  for (int i = 0; i < 5; ++i) {
    peer.acknowledge(0);
    REQUIRE(peer.sent().empty());
  }
  REQUIRE(peer.connection().info().pipe == 1000);
}

TEST_CASE("in a fast recovery without SACK a segment leaves for each that has arrived") {
  ScriptedPeer peer(ScriptedPeer::plain());
  send(peer, {10'000});
  peer.write(10'000);
  for (int i = 0; i < 2; ++i) {
    peer.acknowledge(0);  // RFC 3042: limited transmit
    REQUIRE_FALSE(peer.sent().empty());
  }
  peer.acknowledge(0);
  REQUIRE(peer.sent() == "A 1:1001 ack 1");
  const std::uint64_t window = peer.connection().info().cwnd;
  for (std::uint64_t pipe = peer.connection().info().pipe; pipe >= window; pipe -= 1000) {
    peer.acknowledge(0);
  }
  REQUIRE_FALSE(peer.sent().empty());
}
