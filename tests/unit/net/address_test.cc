#include "base/address.h"

#include <catch2/catch.hpp>
#include <random>
#include <string>

using namespace tfabric::net;

TEST_CASE("addresses are written as RFC 5952 asks") {
  const std::pair<const char*, const char*> texts[] = {
      {"10.0.0.1", "10.0.0.1"},
      {"FD00:0:0:0:0:0:0:1", "fd00::1"},
      {"2001:0db8::0001", "2001:db8::1"},                // §4.1: no leading zeros
      {"2001:db8:0:0:0:0:2:1", "2001:db8::2:1"},         // §4.2.1: as short as it gets
      {"2001:db8:0:1:1:1:1:1", "2001:db8:0:1:1:1:1:1"},  // §4.2.2: not one field alone
      {"2001:0:0:1:0:0:0:1", "2001:0:0:1::1"},           // §4.2.3: the longest run
      {"2001:db8:0:0:1:0:0:1", "2001:db8::1:0:0:1"},     // §4.2.3: the first of equal ones
      {"2001:DB8::ABCD", "2001:db8::abcd"},              // §4.3: small letters
      {"::", "::"},
      {"::1", "::1"},
      {"::ffff:10.1.2.3", "10.1.2.3"},
  };
  for (const auto& [text, expected] : texts) {
    INFO(text);
    REQUIRE(parse_ip(text).has_value());
    REQUIRE(to_string(*parse_ip(text)) == expected);
  }
}

TEST_CASE("what is written reads back, whatever the address") {
  std::mt19937_64 random(1);
  for (int i = 0; i < 20000; ++i) {
    IpAddress address;
    for (auto& byte : address.bytes) {
      // Many zeros, so that runs of them arise.
      byte = static_cast<std::byte>(random() % 3 == 0 ? random() & 0xff : 0);
    }
    const std::string text = to_string(address);
    INFO(text);
    REQUIRE(parse_ip(text) == address);
  }
}

TEST_CASE("what is no address is refused") {
  for (const char* text :
       {"", " ", "10.0.0", "10.0.0.256", "10.0.0.1 ", " 10.0.0.1", "10.0.0.01", "fd00:::1", "fd00::1%eth0",
        "1:2:3:4:5:6:7", "1:2:3:4:5:6:7:8:9", "12345::", "10.0.0.1/24", "host"}) {
    INFO(text);
    REQUIRE_FALSE(parse_ip(text));
  }
  REQUIRE_FALSE(parse_ip(std::string_view("10.0.0.1\0junk", 13)));
}

TEST_CASE("prefixes have a length that their family allows") {
  REQUIRE(parse_prefix("10.0.0.1/0")->length == 0);
  REQUIRE(parse_prefix("10.0.0.1/32")->length == 32);
  REQUIRE(parse_prefix("fd00::1/128")->length == 128);
  REQUIRE(to_string(*parse_prefix("FD00::1/64")) == "fd00::1/64");
  for (const char* text : {"10.0.0.1", "10.0.0.1/", "10.0.0.1/33", "10.0.0.1/-1", "10.0.0.1/2 ",
                           "10.0.0.1/24/8", "fd00::1/129", "/24", "10.0.0.1/99999999999"}) {
    INFO(text);
    REQUIRE_FALSE(parse_prefix(text));
  }
}

TEST_CASE("a prefix contains what shares its first bits, bit by bit") {
  const IpAddress v4 = *parse_ip("170.85.170.85"), v6 = *parse_ip("aaaa:5555:aaaa:5555:aaaa:5555:aaaa:5555");
  for (const auto& [own, bits] : {std::pair{v4, 32}, std::pair{v6, 128}}) {
    for (int length = 0; length <= bits; ++length) {
      for (int flipped = 0; flipped < bits; ++flipped) {
        IpAddress other = own;
        const auto at = static_cast<std::size_t>(flipped + 128 - bits);
        other.bytes[at / 8] ^= static_cast<std::byte>(0x80u >> (at % 8));
        REQUIRE(Prefix{own, length}.contains(other) == (flipped >= length));
      }
      REQUIRE(Prefix{own, length}.contains(own));
    }
  }
  REQUIRE_FALSE(Prefix{v4, 0}.contains(v6));
  REQUIRE_FALSE(Prefix{v6, 0}.contains(v4));
}

TEST_CASE("kinds of addresses") {
  const auto is = [](const char* text, auto what) { return ((*parse_ip(text)).*what)(); };
  REQUIRE(is("10.0.0.1", &IpAddress::is_v4));
  REQUIRE_FALSE(is("::10.0.0.1", &IpAddress::is_v4));
  REQUIRE(is("0.0.0.0", &IpAddress::is_unspecified));
  REQUIRE(is("::", &IpAddress::is_unspecified));
  REQUIRE_FALSE(is("0.0.0.1", &IpAddress::is_unspecified));
  REQUIRE(is("224.0.0.1", &IpAddress::is_multicast));
  REQUIRE(is("239.255.255.255", &IpAddress::is_multicast));
  REQUIRE_FALSE(is("240.0.0.1", &IpAddress::is_multicast));
  REQUIRE(is("ff02::1", &IpAddress::is_multicast));
  REQUIRE(is("169.254.1.1", &IpAddress::is_link_local));
  REQUIRE(is("febf::1", &IpAddress::is_link_local));
  REQUIRE_FALSE(is("fec0::1", &IpAddress::is_link_local));
}

TEST_CASE("MAC addresses") {
  REQUIRE(to_string(*parse_mac("02:0A:0b:00:ff:01")) == "02:0a:0b:00:ff:01");
  for (const char* text :
       {"", "02:00:00:00:00", "02:00:00:00:00:0", "02:00:00:00:00:001", "02-00-00-00-00-01",
        "02:00:00:00:00:0g", "+2:00:00:00:00:01", "0x:00:00:00:00:01", " 2:00:00:00:00:01"}) {
    INFO(text);
    REQUIRE_FALSE(parse_mac(text));
  }
  REQUIRE(parse_mac("01:00:5e:00:00:01")->is_group());
  REQUIRE_FALSE(parse_mac("02:00:00:00:00:01")->is_group());
}
