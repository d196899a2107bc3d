#include <catch2/catch.hpp>

#include "frames.h"

using namespace tfabric;
using namespace tfabric::net;
using Kind = InputResult::Kind;
using ErrorKind = IcmpError::Kind;

namespace {

Ip icmp4(unsigned protocol = 1) { return {.source = peer4(), .destination = our4(), .protocol = protocol}; }
Ip icmp6(unsigned protocol = 58) { return {.source = peer6(), .destination = our6(), .protocol = protocol}; }

// What a router quotes: our own segment to the peer, from port 1000 to 2000, sequence 0x01020304.
Bytes quoted(const IpAddress& from, const IpAddress& to) {
  return packet({.source = from, .destination = to}, tcp(from, to));
}

InputResult icmp_input(Interface& interface, const Ip& header, unsigned type, unsigned code,
                       std::uint32_t word, const Bytes& rest) {
  return interface.input(ip_frame(header, icmp(header, type, code, word, rest)), {}, kStart);
}

}  // namespace

TEST_CASE("an echo is answered with what it carried") {
  const Bytes data = bytes({1, 2, 3, 4, 5, 6, 7});
  {
    Interface interface(our_config());
    REQUIRE(icmp_input(interface, icmp4(), 8, 0, 0x12345678, data).kind == Kind::handled);
    const auto reply = interface.next_frame();
    REQUIRE(reply.has_value());
    const Ip back{.source = our4(), .destination = peer4(), .protocol = 1};
    REQUIRE(Bytes(reply->begin() + 34, reply->end()) == icmp(back, 0, 0, 0x12345678, data));
    REQUIRE(slow_checksum(std::span(*reply).subspan(14, 20)) == 0);
    REQUIRE(Bytes(reply->begin() + 30, reply->begin() + 34) == bytes_of(peer4()));
  }
  Interface interface(our_config());
  REQUIRE(icmp_input(interface, icmp6(), 128, 0, 0x12345678, data).kind == Kind::handled);
  const Ip back{.source = our6(), .destination = peer6(), .protocol = 58};
  REQUIRE(interface.next_frame() ==
          ethernet(kPeerMac, kOurMac, 0x86dd, packet(back, icmp(back, 129, 0, 0x12345678, data))));
  REQUIRE(interface.counters().icmp == 1);
}

TEST_CASE("an echo to a group or from the unspecified address is not answered") {
  Interface interface(our_config());
  Ip to_group = icmp6();
  to_group.destination = ip("ff02::1");
  static_cast<void>(icmp_input(interface, to_group, 128, 0, 0, {}));
  Ip from_nobody = icmp4();
  from_nobody.source = ip("0.0.0.0");
  static_cast<void>(icmp_input(interface, from_nobody, 8, 0, 0, {}));
  from_nobody.source = ip("224.0.0.1");
  static_cast<void>(icmp_input(interface, from_nobody, 8, 0, 0, {}));
  REQUIRE_FALSE(interface.next_frame());
}

TEST_CASE("echoes are answered at a limited rate") {
  Interface interface(our_config());
  int replies = 0;
  for (int i = 0; i < 1000; ++i) {
    static_cast<void>(icmp_input(interface, icmp4(), 8, 0, 0, {}));
    replies += interface.next_frame() ? 1 : 0;
  }
  REQUIRE(replies == 50);
}

TEST_CASE("errors about our segments are returned with what they quote") {
  struct Case {
    Ip header;
    unsigned type, code;
    std::uint32_t word;
    ErrorKind kind;
    std::uint32_t mtu;
  };
  const Case cases[] = {
      {icmp4(), 3, 1, 0, ErrorKind::unreachable, 0},
      {icmp4(), 3, 3, 0, ErrorKind::unreachable, 0},
      {icmp4(), 3, 4, 1400, ErrorKind::packet_too_big, 1400},
      {icmp4(), 3, 4, 0, ErrorKind::packet_too_big, 0},
      {icmp4(), 11, 0, 0, ErrorKind::time_exceeded, 0},
      {icmp6(), 1, 0, 0, ErrorKind::unreachable, 0},
      {icmp6(), 2, 0, 1400, ErrorKind::packet_too_big, 1400},
      {icmp6(), 3, 0, 0, ErrorKind::time_exceeded, 0},
  };
  for (const Case& c : cases) {
    INFO("type " << c.type << " code " << c.code);
    Interface interface(our_config());
    const auto result = icmp_input(interface, c.header, c.type, c.code, c.word,
                                   quoted(c.header.destination, c.header.source));
    REQUIRE(result.kind == Kind::icmp_error);
    REQUIRE(result.icmp.kind == c.kind);
    REQUIRE(result.icmp.local == c.header.destination);
    REQUIRE(result.icmp.remote == c.header.source);
    REQUIRE(result.icmp.local_port == 1000);
    REQUIRE(result.icmp.remote_port == 2000);
    REQUIRE(result.icmp.sequence == 0x01020304);
    REQUIRE(result.icmp.mtu == c.mtu);
    REQUIRE_FALSE(interface.next_frame());
  }
}

TEST_CASE("an error from a router counts as one from the peer") {
  Interface interface(our_config());
  Ip header = icmp4();
  header.source = ip("192.0.2.7");
  REQUIRE(icmp_input(interface, header, 3, 4, 1400, quoted(our4(), peer4())).kind == Kind::icmp_error);
}

TEST_CASE("eight bytes of the segment are enough to know it, fewer are not") {
  for (const Ip& header : {icmp4(), icmp6()}) {
    const Bytes whole = quoted(header.destination, header.source);
    const std::size_t least = (header.destination.is_v4() ? 20 : 40) + 8;
    for (std::size_t size = 0; size < whole.size(); ++size) {
      Interface interface(our_config());
      const Bytes cut(whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(size));
      const unsigned type = header.destination.is_v4() ? 3 : 1;
      REQUIRE((icmp_input(interface, header, type, 1, 0, cut).kind == Kind::icmp_error) == (size >= least));
    }
  }
}

TEST_CASE("quotations that are not ours, not TCP, or not what they seem are ignored") {
  const auto ignored = [](const Ip& header, const Bytes& quotation) {
    Interface interface(our_config());
    const unsigned type = header.destination.is_v4() ? 3 : 1;
    return icmp_input(interface, header, type, 1, 0, quotation).kind == Kind::handled;
  };
  REQUIRE(ignored(icmp4(), quoted(ip("10.0.0.9"), peer4())));
  REQUIRE(ignored(icmp6(), quoted(ip("fd00::9"), peer6())));
  Bytes udp = quoted(our4(), peer4());
  udp[9] = std::byte{17};
  REQUIRE(ignored(icmp4(), udp));
  Bytes short_header = quoted(our4(), peer4());
  short_header[0] = std::byte{0x44};
  REQUIRE(ignored(icmp4(), short_header));
  Bytes long_header = quoted(our4(), peer4());
  long_header[0] = std::byte{0x4f};
  REQUIRE(ignored(icmp4(), long_header));
  Bytes version = quoted(our4(), peer4());
  version[0] = std::byte{0x65};
  REQUIRE(ignored(icmp4(), version));
  Bytes later_fragment = quoted(our4(), peer4());
  set16(later_fragment, 6, 0x0001);
  REQUIRE(ignored(icmp4(), later_fragment));
  // IPv6 does not speak for IPv4's connections.
  Bytes mapped = quoted(our6(), peer6());
  std::copy_n(our4().bytes.begin(), 16, mapped.begin() + 8);
  std::copy_n(peer4().bytes.begin(), 16, mapped.begin() + 24);
  REQUIRE(ignored(icmp6(), mapped));
}

TEST_CASE("ICMP with a bad checksum or too short is counted and dropped") {
  for (const Ip& header : {icmp4(), icmp6()}) {
    Interface interface(our_config());
    Bytes frame =
        ip_frame(header, icmp(header, header.destination.is_v4() ? 8 : 128, 0, 0, bytes({1, 2, 3})));
    frame.back() ^= std::byte{1};
    REQUIRE(interface.input(frame, {}, kStart).kind == Kind::dropped);
    REQUIRE(interface.counters().bad_checksum == 1);
    for (std::size_t size = 0; size < 8; ++size) {
      REQUIRE(interface.input(ip_frame(header, Bytes(size)), {}, kStart).kind == Kind::dropped);
    }
    REQUIRE(interface.counters().malformed == 8);
    REQUIRE(interface.counters().icmp == 0);
  }
}

TEST_CASE("types without a use are ignored") {
  Interface interface(our_config());
  REQUIRE(icmp_input(interface, icmp4(), 13, 0, 0, Bytes(12)).kind == Kind::handled);
  REQUIRE(icmp_input(interface, icmp4(), 5, 0, 0, quoted(our4(), peer4())).kind ==
          Kind::handled);                                                              // redirect
  REQUIRE(icmp_input(interface, icmp6(), 134, 0, 0, Bytes(8)).kind == Kind::handled);  // router advertisement
  REQUIRE(icmp_input(interface, icmp6(), 137, 0, 0, Bytes(32)).kind == Kind::handled);  // redirect
  REQUIRE_FALSE(interface.next_frame());
}

TEST_CASE("ICMP of the one family inside the other is not ours") {
  Interface interface(our_config());
  Ip wrong4 = icmp4(58), wrong6 = icmp6(1);
  REQUIRE(interface.input(ip_frame(wrong4, icmp(icmp4(), 8, 0, 0, {})), {}, kStart).kind == Kind::dropped);
  REQUIRE(interface.input(ip_frame(wrong6, icmp(icmp6(), 128, 0, 0, {})), {}, kStart).kind == Kind::dropped);
  REQUIRE(interface.counters().not_for_us == 2);
}
