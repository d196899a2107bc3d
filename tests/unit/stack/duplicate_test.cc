// What arrives twice is reported by D-SACK (RFC 2883), and what the sender makes of such a report.
#include <catch2/catch.hpp>

#include "tests/unit/stack/scripted_peer.h"

using namespace tfabric;
using namespace tfabric::stack;
using namespace tfabric::stack::test;

namespace {

Options sack_options() {
  Options options = ScriptedPeer::plain();
  options.sack = true;
  return options;
}

// The blocks of what was sent last, from the peer's first byte.
std::vector<std::pair<int, int>> blocks_of(const SegmentOut& segment) {
  std::vector<std::byte> bytes(segment.header_size());
  write_header(segment, bytes.data());
  const auto read = parse_segment(bytes);
  std::vector<std::pair<int, int>> blocks;
  for (std::size_t i = 0; i < read->sack_count; ++i) {
    blocks.emplace_back(read->sack[i].left - (kPeerIss + 1), read->sack[i].right - (kPeerIss + 1));
  }
  return blocks;
}
using Blocks = std::vector<std::pair<int, int>>;

SegmentIn at(const ScriptedPeer& peer, std::uint32_t offset, std::uint32_t size) {
  SegmentIn segment = peer.segment(flag::ack, size);
  segment.seq = kPeerIss + 1 + offset;
  return segment;
}

}  // namespace

TEST_CASE("an old segment is reported once") {
  ScriptedPeer peer(sack_options());
  peer.establish();
  peer.hand(at(peer, 0, 1000));
  REQUIRE(peer.sent() == "A 1 ack 1001");
  REQUIRE(blocks_of(peer.last()).empty());
  peer.hand(at(peer, 0, 1000));
  REQUIRE(peer.sent() == "A 1 ack 1001");
  REQUIRE(blocks_of(peer.last()) == Blocks{{0, 1000}});
  peer.hand(at(peer, 1000, 1000));
  REQUIRE(peer.sent() == "A 1 ack 2001");
  REQUIRE(blocks_of(peer.last()).empty());
}

TEST_CASE("of a segment that is partly old, the old part is reported") {
  ScriptedPeer peer(sack_options());
  peer.establish();
  peer.hand(at(peer, 0, 1000));
  peer.sent();
  peer.hand(at(peer, 500, 1000));
  REQUIRE(peer.sent() == "A 1 ack 1501");
  REQUIRE(blocks_of(peer.last()) == Blocks{{500, 1000}});
}

TEST_CASE("a duplicate out of order is reported before the block that contains it") {
  ScriptedPeer peer(sack_options());
  peer.establish();
  peer.hand(at(peer, 2000, 1000));
  peer.hand(at(peer, 5000, 1000));
  peer.sent();
  peer.hand(at(peer, 2500, 500));
  REQUIRE(peer.sent() == "A 1 ack 1");
  REQUIRE(blocks_of(peer.last()) == Blocks{{2500, 3000}, {2000, 3000}, {5000, 6000}});
}

TEST_CASE("duplicates of one burst that follow each other are one report") {
  ScriptedPeer peer(sack_options());
  peer.establish();
  peer.hand(at(peer, 0, 3000));
  peer.sent();
  for (const std::uint32_t offset : {0u, 1000u, 2000u}) {
    peer.hand(at(peer, offset, 1000));
  }
  REQUIRE(peer.sent() == "A 1 ack 3001");
  REQUIRE(blocks_of(peer.last()) == Blocks{{0, 3000}});
}

TEST_CASE("without SACK nothing is reported") {
  ScriptedPeer peer(ScriptedPeer::plain());
  peer.establish();
  peer.hand(at(peer, 0, 1000));
  peer.hand(at(peer, 0, 1000));
  REQUIRE(peer.sent() == "A 1 ack 1001");
  REQUIRE(peer.last().option_size == 0);
}

TEST_CASE("a report of a duplicate widens the reordering window, if anything was ever repeated") {
  ScriptedPeer peer(sack_options());
  peer.establish();
  peer.write(10'000);
  peer.sent();
  peer.advance(1ms);
  peer.report(2000, {{0, 1000}});  // the network's copy, or a liar
  REQUIRE(peer.connection().info().reo_wnd_mult == 1);
  peer.report(2000, {{5000, 10'000}});
  REQUIRE(peer.sent() == "A 2001:3001 ack 1, A 3001:4001 ack 1, A 4001:5001 ack 1");
  peer.report(3000, {{2000, 3000}, {5000, 10'000}});
  REQUIRE(peer.connection().info().reo_wnd_mult == 2);
}

TEST_CASE("of what a segment that fills a hole repeats, the first run is reported") {
  ScriptedPeer peer(sack_options());
  peer.establish();
  for (std::uint32_t left : {1000u, 2000u, 4000u, 7000u}) {
    peer.hand(at(peer, left, 1000));
    peer.sent();
  }
  REQUIRE(blocks_of(peer.last()) == Blocks{{7000, 8000}, {4000, 5000}, {1000, 3000}});
  peer.hand(at(peer, 0, 6000));
  REQUIRE(peer.sent() == "A 1 ack 6001");
  REQUIRE(blocks_of(peer.last()) == Blocks{{1000, 3000}, {7000, 8000}});
}
