#include "transport/socket/bindings.h"

#include <catch2/catch.hpp>

using namespace tfabric;
using socket::Bindings;

namespace {

const net::IpAddress kPeer = *net::parse_ip("10.0.0.2"), kOther = *net::parse_ip("10.0.0.3");

}  // namespace

TEST_CASE("sockets are bound until one has ended in silence, and then by turns until one works") {
  Bindings bindings;
  CHECK(bindings.binds(kPeer));
  bindings.on_silence(kPeer, /*bound=*/true);
  CHECK_FALSE(bindings.binds(kPeer));
  CHECK(bindings.binds(kOther));
  bindings.on_silence(kPeer, /*bound=*/true);  // one that had begun before
  CHECK_FALSE(bindings.binds(kPeer));
  bindings.on_silence(kPeer, /*bound=*/false);
  CHECK(bindings.binds(kPeer));
}

TEST_CASE("where a bound socket has worked, silence is the network's") {
  Bindings bindings;
  CHECK_FALSE(bindings.works(kPeer));
  bindings.on_life(kPeer);
  bindings.on_silence(kPeer, /*bound=*/true);
  CHECK(bindings.works(kPeer));
  CHECK(bindings.binds(kPeer));
  bindings.on_silence(kOther, /*bound=*/true);
  bindings.on_life(kOther);  // a slow one
  CHECK(bindings.binds(kOther));
}

TEST_CASE("only so many peers are remembered, and a new one that works is always") {
  Bindings bindings;
  for (std::size_t i = 0; i <= Bindings::kMostPeers; ++i) {
    const auto octet = [i](unsigned shift) { return static_cast<std::uint8_t>(i >> shift); };
    bindings.on_silence(net::IpAddress::v4({10, 1, octet(8), octet(0)}), /*bound=*/true);
  }
  CHECK_FALSE(bindings.binds(net::IpAddress::v4({10, 1, 0, 0})));
  CHECK(bindings.binds(net::IpAddress::v4({10, 1, Bindings::kMostPeers >> 8, 0})));
  bindings.on_life(kPeer);
  CHECK(bindings.works(kPeer));
}
