// Connections whose next hop changes its MAC address without an announcement, and forged messages about their
// neighbours.
#include <catch2/catch.hpp>

#include "tests/simulation/two_hosts.h"

using namespace tfabric;
using namespace tfabric::simulation;
using namespace std::chrono_literals;

namespace {

constexpr net::MacAddress kForger{{2, 0, 0, 0, 0, 0x66}};
constexpr std::uint8_t kSolicited = 0x40, kOverride = 0x20;

// No pause, beyond what a round trip of two steps explains.
constexpr Duration kNoPause = 50ms;

bool alive(TwoHosts& hosts) {
  return hosts.host(0).connection()->established() && hosts.host(1).connection()->established();
}

}  // namespace

TEST_CASE("a peer that changes its MAC address without a word is found again within seconds") {
  const bool v4 = GENERATE(true, false);
  // The one whose neighbour has changed is the only one that sends data, or only acknowledges.
  const std::size_t sender = GENERATE(std::size_t{0}, std::size_t{1});
  TwoHosts hosts(v4, sender);
  REQUIRE(hosts.longest_pause(2s) >= 0s);
  REQUIRE(alive(hosts));
  REQUIRE(hosts.longest_pause(2s) <= kNoPause);
  hosts.change_mac(1);
  const Duration pause = hosts.longest_pause(22s);
  // Two polls, a second each, and what the retransmission timer has grown to meanwhile.
  CHECK(pause > 2s);
  CHECK(pause <= 4500ms);
  REQUIRE(alive(hosts));
  REQUIRE(hosts.longest_pause(2s) <= kNoPause);
}

TEST_CASE("an idle connection survives a peer that changes its MAC address without a word") {
  TwoHosts hosts(GENERATE(true, false), /*sender=*/2);
  hosts.run(2s);
  hosts.change_mac(GENERATE(std::size_t{0}, std::size_t{1}));
  hosts.run(40s);
  REQUIRE(alive(hosts));
}

TEST_CASE("one forged message about a peer does not stop a connection") {
  const bool v4 = GENERATE(true, false);
  const std::uint8_t flags = GENERATE(std::uint8_t{0}, kOverride, kSolicited, kSolicited | kOverride);
  const std::size_t sender = GENERATE(std::size_t{0}, std::size_t{1});
  if (v4 && flags != 0) {
    return;  // ARP has no flags
  }
  TwoHosts hosts(v4, sender);
  hosts.run(2s);
  for (const std::size_t victim : {std::size_t{0}, std::size_t{1}}) {
    hosts.put(claim(hosts.address(1 - victim), kForger, hosts.address(victim), mac_of(victim), flags));
    REQUIRE(hosts.longest_pause(5s) <= kNoPause);
    REQUIRE(alive(hosts));
  }
}

TEST_CASE("a forged answer to the first question delays a connection, and does not prevent it") {
  const bool v4 = GENERATE(true, false);
  TwoHosts hosts(v4, /*sender=*/0);
  hosts.put(claim(hosts.address(1), kForger, hosts.address(0), mac_of(0), kSolicited));
  hosts.run(1ms);
  hosts.put(claim(hosts.address(1), kForger, hosts.address(0), mac_of(0), kSolicited));
  hosts.run(8s);
  REQUIRE(alive(hosts));
  REQUIRE(hosts.longest_pause(5s) <= kNoPause);
}
