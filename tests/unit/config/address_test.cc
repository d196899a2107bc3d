#include "config/address.h"

#include <arpa/inet.h>

#include <catch2/catch.hpp>
#include <string>

using namespace tfabric::config;

namespace {

IpBytes address(const std::string& text) {
  IpBytes bytes{};
  REQUIRE(inet_pton(AF_INET6, text.c_str(), bytes.data()) == 1);
  return bytes;
}

AddressRange range_of(const std::string& text) {
  const auto range = AddressRange::parse(text);
  REQUIRE(range.has_value());
  return *range;
}

}  // namespace

TEST_CASE("an IPv4 range contains the mapped addresses of its network, and no others") {
  const AddressRange range = range_of("10.1.16.0/20");
  REQUIRE(range.contains(address("::ffff:10.1.16.0")));
  REQUIRE(range.contains(address("::ffff:10.1.31.255")));
  REQUIRE_FALSE(range.contains(address("::ffff:10.1.32.0")));
  REQUIRE_FALSE(range.contains(address("::10.1.16.1")));
  REQUIRE(range_of("0.0.0.0/0").contains(address("::ffff:192.0.2.1")));
  REQUIRE_FALSE(range_of("0.0.0.0/0").contains(address("fd00::1")));
}

TEST_CASE("an IPv6 range contains the addresses of its network, and no others") {
  const AddressRange range = range_of("fd00:1::/33");
  REQUIRE(range.contains(address("fd00:1:7fff::1")));
  REQUIRE_FALSE(range.contains(address("fd00:1:8000::1")));
  REQUIRE(range_of("fd00::5/128").contains(address("fd00::5")));
  REQUIRE_FALSE(range_of("fd00::5/128").contains(address("fd00::4")));
}

TEST_CASE("a range with an empty text contains every address") {
  REQUIRE(range_of("").contains(address("fe80::1")));
  REQUIRE(range_of(" ").contains(address("::ffff:10.0.0.1")));
}

TEST_CASE("text that is not a range is refused") {
  using namespace std::string_literals;
  for (const auto& text : {"10.0.0.0"s, "10.0.0.0/"s, "10.0.0.0/33"s, "fd00::/129"s, "fd00::/-1"s, "/8"s,
                           "x/8"s, "10.0.0.0/8x"s, "10.0.0.0\0/8"s}) {
    INFO(text);
    REQUIRE_FALSE(AddressRange::parse(text).has_value());
  }
}
