#include "transport/tcp/stack/port_selector.h"

#include <catch2/catch.hpp>
#include <set>

using namespace tfabric::stack;

namespace {

constexpr std::array<std::byte, 16> kSecret{std::byte{1}}, kOtherSecret{std::byte{2}};
constexpr std::array<std::byte, 16> kLocal{std::byte{3}}, kRemote{std::byte{4}}, kElsewhere{std::byte{5}};
constexpr auto kAny = [](std::uint16_t) { return true; };

}  // namespace

TEST_CASE("toward one destination each port of the range comes once before one comes again") {
  PortSelector selector(kSecret, 65000, 536);
  std::set<std::uint16_t> ports;
  for (int i = 0; i < 536; ++i) {
    const auto port = selector.choose(kLocal, kRemote, 7, kAny);
    REQUIRE(port);
    REQUIRE(*port >= 65000);
    REQUIRE(ports.insert(*port).second);
  }
  REQUIRE(ports.count(*selector.choose(kLocal, kRemote, 7, kAny)) == 1);
}

TEST_CASE("ports in use are passed over, and a full range has none") {
  PortSelector selector(kSecret, 50000, 100);
  const auto only = [](std::uint16_t port) { return port == 50042; };
  REQUIRE(selector.choose(kLocal, kRemote, 7, only) == 50042);
  REQUIRE(selector.choose(kLocal, kRemote, 7, only) == 50042);
  REQUIRE_FALSE(selector.choose(kLocal, kRemote, 7, [](std::uint16_t) { return false; }));
}

TEST_CASE("where the ports begin depends on the destination and on the secret") {
  PortSelector selector(kSecret, 32768, 28232), other(kOtherSecret, 32768, 28232);
  const auto first = selector.choose(kLocal, kRemote, 7, kAny);
  REQUIRE(selector.choose(kLocal, kElsewhere, 7, kAny) != static_cast<std::uint16_t>(*first + 1));
  REQUIRE(selector.choose(kLocal, kRemote, 8, kAny) != static_cast<std::uint16_t>(*first + 1));
  REQUIRE(other.choose(kLocal, kRemote, 7, kAny) != first);
}
