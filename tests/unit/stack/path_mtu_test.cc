// RFC 4821 and RFC 8899: the size of segments on paths that drop large ones silently.
#include "transport/tcp/stack/path_mtu.h"

#include <catch2/catch.hpp>

#include "tests/unit/stack/scripted_peer.h"

using namespace tfabric;
using namespace tfabric::stack;
using namespace tfabric::stack::test;

namespace {

constexpr std::uint32_t kLarge = 8940;
constexpr std::uint32_t kSmall = 1220;
constexpr std::uint32_t kEthernet = 1440;
const Instant kNow{1h};

PathMtu after_timeouts(int timeouts, std::uint32_t size = kLarge) {
  PathMtu path;
  path.start(kLarge);
  for (int i = 0; i < timeouts; ++i) {
    path.on_timeout(size);
  }
  return path;
}

// Probes from kSmall upwards on a path that takes segments of up to `limit`; gives back when it rests.
std::uint32_t found(PathMtu& path, std::uint32_t limit, Instant now) {
  path.on_progress();
  while (const auto size = path.wanted_probe(now)) {
    path.on_probe(/*start=*/0, *size);
    REQUIRE_FALSE(path.wanted_probe(now));  // one at a time
    *size <= limit ? path.on_probe_arrived(now) : path.on_probe_lost(now);
  }
  return path.mss();
}

Options large() {
  Options options = ScriptedPeer::plain();
  options.sack = true;
  options.mss = kLarge;
  return options;
}

// A connection that has fallen back to small segments, all of which are acknowledged.
struct Fallen {
  Fallen() : peer(large()) {
    peer.establish();
    peer.write(2 * kLarge);
    peer.sent();
    while (peer.connection().info().mss == kLarge) {
      REQUIRE(peer.connection().info().timeouts < 3);
      peer.run(100ms);
    }
    peer.acknowledge(2 * kLarge);
    peer.sent();
  }
  ScriptedPeer peer;
};

}  // namespace

TEST_CASE("a path is taken for a black hole after three time-outs of large segments") {
  REQUIRE(after_timeouts(2).mss() == kLarge);
  REQUIRE(after_timeouts(3).mss() == kSmall);
  REQUIRE(after_timeouts(30).mss() == kSmall);
}

TEST_CASE("time-outs of small segments, or with progress between them, say nothing of the path's MTU") {
  REQUIRE(after_timeouts(20, 500).mss() == kLarge);
  PathMtu path = after_timeouts(2);
  path.on_progress();
  path.on_timeout(kLarge);
  path.on_timeout(kLarge);
  REQUIRE(path.mss() == kLarge);
}

TEST_CASE("nothing is probed before the small size has proved to be good") {
  PathMtu path = after_timeouts(3);
  REQUIRE_FALSE(path.wanted_probe(kNow));
  path.on_progress();
  REQUIRE(path.wanted_probe(kNow));
}

TEST_CASE("probes find the largest of the usual sizes that passes") {
  PathMtu path = after_timeouts(3);
  SECTION("Ethernet") {
    REQUIRE(found(path, kEthernet, kNow) == kEthernet);
    REQUIRE(path.limited());
    SECTION("and look again after ten minutes") {
      REQUIRE_FALSE(path.wanted_probe(kNow + 599s));
      REQUIRE(found(path, kLarge, kNow + 600s) == kLarge);
      REQUIRE_FALSE(path.limited());
    }
  }
  SECTION("a tunnel") { REQUIRE(found(path, 1399, kNow) == 1340); }
  SECTION("all there is: it was an outage") {
    REQUIRE(found(path, kLarge, kNow) == kLarge);
    REQUIRE_FALSE(path.limited());
  }
}

TEST_CASE("what a router says of its MTU is believed for ten minutes") {
  PathMtu path;
  path.start(kLarge);
  path.on_too_big(1360, kNow);
  REQUIRE(path.mss() == 1360);
  REQUIRE_FALSE(path.wanted_probe(kNow + 599s));
  REQUIRE(path.wanted_probe(kNow + 600s) == 1400);
}

TEST_CASE("a connection whose large segments vanish goes on with small ones") {
  Fallen fallen;
  ScriptedPeer& peer = fallen.peer;
  REQUIRE(peer.connection().info().mss == kSmall);
  peer.write(2 * kSmall);
  REQUIRE(peer.sent() == "A 17881:19101 ack 1, PA 19101:20321 ack 1");
}

TEST_CASE("without discovery large segments are sent for ever") {
  Options options = large();
  options.mtu_discovery = false;
  ScriptedPeer peer(options);
  peer.establish();
  peer.write(2 * kLarge);
  peer.sent();
  peer.run(5s);
  REQUIRE(peer.connection().info().timeouts >= 4);
  REQUIRE(peer.connection().info().mss == kLarge);
}

TEST_CASE("a probe that arrives makes all later segments as large") {
  Fallen fallen;
  ScriptedPeer& peer = fallen.peer;
  peer.write(5 * kLarge);
  REQUIRE(peer.sent().starts_with("A 17881:19221 ack 1, A 19221:20441 ack 1"));  // 1340, 1220
  peer.acknowledge(17'880 + 1340);
  REQUIRE(peer.connection().info().mss == 1340);
}

TEST_CASE("a probe that is lost goes again in pieces, and is no sign of congestion") {
  Fallen fallen;
  ScriptedPeer& peer = fallen.peer;
  peer.write(5 * kLarge);
  peer.sent();
  const std::uint32_t cwnd = peer.connection().info().cwnd;
  peer.advance(1ms);
  const std::uint32_t probe = 17'880, behind = probe + 1340;
  peer.report(probe, {{behind, behind + 2 * kSmall}});
  peer.sent();
  peer.advance(1ms);
  peer.report(probe, {{behind, behind + 4 * kSmall}});
  const std::string again = peer.sent();
  CAPTURE(again);
  REQUIRE(again.find("A 17881:19101 ack 1, A 19101:19221 ack 1") != std::string::npos);
  const ConnectionInfo info = peer.connection().info();
  REQUIRE(info.recovery == Recovery::none);
  REQUIRE(info.cwnd >= cwnd);
  REQUIRE(info.mss == kSmall);
  // What is lost of the pieces is a loss like any other.
  peer.advance(1ms);
  peer.report(probe, {{probe + kSmall, behind + 8 * kSmall}});
  peer.advance(1ms);
  peer.report(probe, {{probe + kSmall, behind + 12 * kSmall}});
  REQUIRE(peer.connection().info().recovery == Recovery::fast);
}
