#include "transport/session/peer_rails.h"

#include <catch2/catch.hpp>
#include <vector>

using namespace tfabric;
using namespace tfabric::session;

namespace {

Endpoint endpoint(const char* address, std::uint16_t port, RailRole role = RailRole::own) {
  return {.address = *net::parse_ip(address), .port = port, .role = role};
}

RailEnd ours(std::vector<std::string> addresses) { return {.kind = 1, .addresses = networks_of(addresses)}; }

}  // namespace

TEST_CASE("two endpoints of the kernel's with one port are one rail with an address of each family") {
  const std::vector<Endpoint> endpoints{endpoint("10.0.0.1", 4000), endpoint("10.0.1.1", 4001),
                                        endpoint("fd00::1", 4000), endpoint("fd01::1", 4001)};
  const std::vector<PeerRail> rails = peer_rails(endpoints);
  REQUIRE(rails.size() == 2);
  CHECK(rails[0].endpoints == std::vector<const Endpoint*>{&endpoints[0], &endpoints[2]});
  CHECK(rails[1].endpoints == std::vector<const Endpoint*>{&endpoints[1], &endpoints[3]});
  CHECK(nearest_of(ours({"10.0.0.2/24"}), rails[0]) == &endpoints[0]);
  CHECK(nearest_of(ours({"fd00::2/64"}), rails[0]) == &endpoints[2]);
  CHECK(nearest_of(ours({"10.0.0.2/24", "fd00::2/64"}), rails[0]) == &endpoints[0]);
  CHECK(nearest_of(ours({"192.168.0.2/32", "fd00::2/64"}), rails[0]) == &endpoints[2]);
}

TEST_CASE("what has another port, another role, the same family or our own TCP is a rail of its own") {
  const std::vector<Endpoint> endpoints{
      endpoint("10.0.0.1", 4000), endpoint("fd00::1", 4001), endpoint("fd00::2", 4000, RailRole::lifeboat),
      endpoint("10.0.0.2", 4000), endpoint("10.0.0.3", 0),   endpoint("fd00::3", 0)};
  CHECK(peer_rails(endpoints).size() == endpoints.size());
}
