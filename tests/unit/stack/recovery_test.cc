// Loss: fast retransmission with and without SACK (RFC 5681, 6582, 8985), time-outs, smaller MTUs.
#include <catch2/catch.hpp>

#include "tests/unit/stack/scripted_peer.h"

using namespace tfabric;
using namespace tfabric::stack;
using namespace tfabric::stack::test;

namespace {

// Ten segments of a thousand bytes in flight.
struct InFlight {
  explicit InFlight(bool sack) : peer(options(sack)) {
    peer.establish();
    peer.write(10'000);
    peer.sent();
    REQUIRE(peer.connection().info().flight == 10'000);
  }
  static Options options(bool sack) {
    Options options = ScriptedPeer::plain();
    options.sack = sack;
    return options;
  }
  ScriptedPeer peer;
};

}  // namespace

TEST_CASE("three duplicate acknowledgements bring the missing segment, a partial one the next") {
  InFlight flight(/*sack=*/false);
  ScriptedPeer& peer = flight.peer;
  peer.acknowledge(0);
  peer.acknowledge(0);
  REQUIRE(peer.sent().empty());
  peer.acknowledge(0);
  REQUIRE(peer.sent() == "A 1:1001 ack 1");
  peer.acknowledge(4000);
  REQUIRE(peer.sent() == "A 4001:5001 ack 1");
  peer.acknowledge(10'000);
  REQUIRE(peer.sent().empty());
  REQUIRE(peer.connection().info().fast_retransmits == 1);
  REQUIRE(peer.connection().info().timeouts == 0);
}

TEST_CASE("with SACK the holes are repeated, each once, and what arrived is not") {
  InFlight flight(/*sack=*/true);
  ScriptedPeer& peer = flight.peer;
  peer.advance(1ms);
  peer.report(0, {{1000, 2000}});
  REQUIRE(peer.sent().empty());
  REQUIRE(peer.connection().info().sacked == 1000);
  REQUIRE(peer.connection().info().recovery == Recovery::none);
  peer.report(0, {{3000, 10'000}, {1000, 2000}});
  REQUIRE(peer.sent() == "A 1:1001 ack 1, A 2001:3001 ack 1");
  REQUIRE(peer.connection().info().recovery == Recovery::fast);
  peer.report(2000, {{3000, 10'000}});
  REQUIRE(peer.sent().empty());
  peer.acknowledge(10'000);
  REQUIRE(peer.connection().info().flight == 0);
  REQUIRE(peer.connection().info().bytes_retransmitted == 2000);
}

TEST_CASE("an acknowledgement that reports as well is no reordering: losses are repaired at once") {
  InFlight flight(/*sack=*/true);
  ScriptedPeer& peer = flight.peer;
  peer.advance(1ms);
  peer.report(1000, {{4000, 10'000}});
  REQUIRE(peer.sent() == "A 1001:2001 ack 1, A 2001:3001 ack 1, A 3001:4001 ack 1");
}

TEST_CASE("a report of bytes that are not in flight is ignored") {
  InFlight flight(/*sack=*/true);
  flight.peer.report(0, {{9000, 20'000}});
  flight.peer.report(0, {{5000, 4000}});
  flight.peer.report(5000, {{1000, 4000}});
  REQUIRE(flight.peer.sent().empty());
  REQUIRE(flight.peer.connection().info().fast_retransmits == 0);
}

TEST_CASE("a peer that reports all and acknowledges nothing gets it again after the time-out") {
  InFlight flight(/*sack=*/true);
  flight.peer.report(0, {{0, 10'000}});
  flight.peer.sent();
  REQUIRE(flight.peer.run(1s).substr(0, 14) == "A 1:1001 ack 1");
}

TEST_CASE("after a time-out the window is one segment and grows again") {
  InFlight flight(/*sack=*/false);
  ScriptedPeer& peer = flight.peer;
  REQUIRE(peer.run(200ms) == "A 1:1001 ack 1");
  REQUIRE(peer.connection().info().cwnd == 1000);
  REQUIRE(peer.connection().info().recovery == Recovery::timeout);
  peer.acknowledge(1000);
  REQUIRE(peer.sent() == "A 1001:2001 ack 1, A 2001:3001 ack 1");
}

TEST_CASE("when the last segment of a burst is lost, the window shrinks by a share of the burst") {
  InFlight flight(/*sack=*/true);
  ScriptedPeer& peer = flight.peer;
  peer.advance(10ms);
  peer.acknowledge(10'000);
  peer.write(19'000);
  peer.sent();
  peer.advance(10ms);
  peer.acknowledge(28'000);
  REQUIRE(peer.connection().info().flight == 1000);
  REQUIRE(peer.connection().info().cwnd == 38'000);
  REQUIRE(peer.run(1s).find("28001:29001") != std::string::npos);
  REQUIRE(peer.connection().info().timeouts > 0);
  REQUIRE(peer.connection().info().ssthresh > 10'000);
}

TEST_CASE("what was too big for the path goes again in smaller segments") {
  InFlight flight(/*sack=*/false);
  ScriptedPeer& peer = flight.peer;
  peer.connection().set_path_mss(600, peer.now());
  REQUIRE(peer.sent().substr(0, 31) == "A 1:601 ack 1, A 601:1001 ack 1");
}

TEST_CASE("a path MSS below the size of the options is lifted") {
  InFlight flight(/*sack=*/false);
  ScriptedPeer& peer = flight.peer;
  peer.connection().set_path_mss(1, peer.now());
  REQUIRE(peer.sent().substr(0, 12) == "A 1:65 ack 1");
}

TEST_CASE("pieces out of order are reported, the newest first") {
  Options options = ScriptedPeer::plain();
  options.sack = true;
  ScriptedPeer peer(options);
  peer.establish();
  for (const std::uint32_t offset : {1000u, 5000u, 3000u}) {
    SegmentIn segment = peer.segment(flag::ack, 1000);
    segment.seq += offset;
    peer.hand(segment);
    REQUIRE(peer.sent() == "A 1 ack 1");
  }
  std::vector<std::byte> bytes(peer.last().header_size());
  write_header(peer.last(), bytes.data());
  const auto read = parse_segment(bytes);
  REQUIRE(read->sack_count == 3);
  REQUIRE(read->sack[0] == SackBlock{kPeerIss + 3001, kPeerIss + 4001});
  REQUIRE(read->sack[1] == SackBlock{kPeerIss + 5001, kPeerIss + 6001});
  REQUIRE(read->sack[2] == SackBlock{kPeerIss + 1001, kPeerIss + 2001});
  peer.hand(peer.segment(flag::ack, 1000));
  REQUIRE(peer.received == 2000);
  REQUIRE(peer.sent() == "A 1 ack 2001");
}

TEST_CASE("the window grows by what has arrived, not by what an acknowledgement makes up for") {
  const bool sack = GENERATE(true, false);
  InFlight flight(sack);
  ScriptedPeer& peer = flight.peer;
  peer.advance(10ms);
  peer.write(5000);
  for (std::uint32_t right : {2000u, 3000u}) {
    if (sack) {
      peer.report(0, {{1000, right}});
    } else {
      peer.acknowledge(0);
    }
    peer.sent();
  }
  REQUIRE(peer.connection().info().cwnd == 10'000);
  peer.acknowledge(3000);
  REQUIRE(peer.connection().info().cwnd == 11'000);
  if (sack) {
    // There is reordering on this path: a report is no sign of a loss.
    peer.report(3000, {{4000, 5000}});
    REQUIRE(peer.connection().info().cwnd == 12'000);
  }
}

TEST_CASE("after a time-out, reports without an acknowledgement do not open the window") {
  InFlight flight(/*sack=*/true);
  ScriptedPeer& peer = flight.peer;
  peer.advance(10ms);
  peer.report(0, {{1000, 2000}});
  peer.acknowledge(2000);  // reordering: what was first has come last
  (void)peer.run(300ms);
  REQUIRE(peer.connection().info().recovery == Recovery::timeout);
  REQUIRE(peer.connection().info().cwnd == 1000);
  peer.report(2000, {{4000, 6000}});
  REQUIRE(peer.connection().info().cwnd == 1000);
}

TEST_CASE("small segments that are lost go again as one, but for the first after a time-out") {
  ScriptedPeer peer(ScriptedPeer::plain());
  peer.establish();
  for (int i = 0; i < 5; ++i) {
    peer.write(10);
    REQUIRE_FALSE(peer.sent().empty());
  }
  REQUIRE(peer.run(200ms) == "A 1:11 ack 1");
  peer.acknowledge(10);
  REQUIRE(peer.sent() == "PA 11:51 ack 1");
}

TEST_CASE("retransmitted bytes are counted until they have arrived") {
  InFlight flight(/*sack=*/true);
  ScriptedPeer& peer = flight.peer;
  peer.advance(10ms);
  peer.report(0, {{1000, 4000}});
  peer.sent();
  REQUIRE(peer.connection().info().retransmitted == 1000);
  peer.acknowledge(10'000);
  REQUIRE(peer.connection().info().retransmitted == 0);
}
