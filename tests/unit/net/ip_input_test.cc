#include <catch2/catch.hpp>

#include "frames.h"

using namespace tfabric;
using namespace tfabric::net;
using Kind = InputResult::Kind;

namespace {

Ip v4() { return {.source = peer4(), .destination = our4()}; }
Ip v6() { return {.source = peer6(), .destination = our6()}; }

Bytes tcp_frame(const Ip& header, std::size_t payload = 4) {
  return ip_frame(header, tcp(header.source, header.destination, payload));
}

Kind input(Interface& interface, const Bytes& frame, const RxMeta& meta = {}) {
  return interface.input(frame, meta, kStart).kind;
}

Bytes extension(unsigned next, unsigned units = 0, unsigned third = 0, unsigned fourth = 0) {
  Bytes header = bytes({next, units, third, fourth});
  header.resize((units + 1) * 8);
  return header;
}

}  // namespace

TEST_CASE("TCP for us is handed up as it came") {
  for (const Ip& header : {v4(), v6()}) {
    for (const std::size_t payload : {0u, 1u, 1000u}) {
      Interface interface(our_config());
      Bytes frame = tcp_frame(header, payload);
      frame.resize(frame.size() + 7);  // padding, which is not TCP's
      const auto result = interface.input(frame, {}, kStart);
      REQUIRE(result.kind == Kind::tcp);
      REQUIRE(result.tcp.source == header.source);
      REQUIRE(result.tcp.destination == header.destination);
      REQUIRE(Bytes(result.tcp.bytes.begin(), result.tcp.bytes.end()) ==
              tcp(header.source, header.destination, payload));
      REQUIRE_FALSE(result.tcp.congestion_experienced);
      REQUIRE(interface.counters().tcp == 1);
    }
  }
}

TEST_CASE("a router's congestion mark is reported, other marks are not") {
  for (Ip header : {v4(), v6()}) {
    for (const unsigned traffic_class : {0u, 1u, 2u, 3u, 0xfcu, 0xffu}) {
      header.traffic_class = traffic_class;
      Interface interface(our_config());
      const auto result = interface.input(tcp_frame(header), {}, kStart);
      REQUIRE(result.kind == Kind::tcp);
      REQUIRE(result.tcp.congestion_experienced == ((traffic_class & 3) == 3));
    }
  }
}

TEST_CASE("any one bit changed in an IPv4 TCP packet's sums is noticed") {
  Bytes frame = tcp_frame(v4(), 8);
  for (std::size_t bit = 14 * 8; bit < frame.size() * 8; ++bit) {
    Interface interface(our_config());
    frame[bit / 8] ^= static_cast<std::byte>(1u << (bit % 8));
    INFO("bit " << bit);
    REQUIRE(input(interface, frame) == Kind::dropped);
    frame[bit / 8] ^= static_cast<std::byte>(1u << (bit % 8));
  }
}

TEST_CASE("the driver's word on checksums counts, unless it does not know") {
  const auto with_bad_sum = [](const Ip& header) {
    Bytes frame = tcp_frame(header);
    frame.back() ^= std::byte{1};
    return frame;
  };
  for (const Ip& header : {v4(), v6()}) {
    Interface interface(our_config());
    REQUIRE(input(interface, with_bad_sum(header)) == Kind::dropped);
    REQUIRE(interface.counters().bad_checksum == 1);
    REQUIRE(input(interface, with_bad_sum(header), {.tcp = ChecksumStatus::good}) == Kind::tcp);
    REQUIRE(input(interface, tcp_frame(header), {.tcp = ChecksumStatus::bad}) == Kind::dropped);
    REQUIRE(interface.counters().bad_checksum == 2);
  }
  Interface interface(our_config());
  REQUIRE(input(interface, tcp_frame(v4()), {.ip = ChecksumStatus::bad}) == Kind::dropped);
  REQUIRE(interface.counters().bad_checksum == 1);
}

TEST_CASE("a trusted wire's checksums are not looked at") {
  InterfaceConfig config = our_config();
  config.trusted_wire = true;
  Interface interface(config);
  Bytes frame = tcp_frame(v4());
  set16(frame, 14 + 10, 0);
  set16(frame, 14 + 20 + 16, 0);
  REQUIRE(input(interface, frame) == Kind::tcp);
}

TEST_CASE("frames cut off anywhere are dropped") {
  for (const Ip& header : {v4(), v6()}) {
    const Bytes frame = tcp_frame(header);
    for (std::size_t size = 0; size < frame.size(); ++size) {
      Interface interface(our_config());
      // A copy of just that size, so that a sanitizer sees a read beyond it.
      const Bytes cut(frame.begin(), frame.begin() + static_cast<std::ptrdiff_t>(size));
      REQUIRE(input(interface, cut) == Kind::dropped);
      REQUIRE(interface.counters().malformed == 1);
    }
  }
}

TEST_CASE("IPv4 headers that contradict themselves are malformed") {
  const Bytes good = packet(v4(), tcp(peer4(), our4()));
  const auto refused = [&](std::size_t at, unsigned value) {
    Interface interface(our_config());
    Bytes bad = good;
    bad[at] = static_cast<std::byte>(value);
    // The checksum is right: it is not what gives the packet away.
    return input(interface, ethernet(kOurMac, kPeerMac, 0x0800, bad), {.ip = ChecksumStatus::good}) ==
               Kind::dropped &&
           interface.counters().malformed == 1;
  };
  REQUIRE(refused(0, 0x55));  // version
  REQUIRE(refused(0, 0x44));  // header shorter than any
  REQUIRE(refused(0, 0x4f));  // header longer than the packet
  REQUIRE(refused(3, 19));    // total shorter than the header
  REQUIRE(refused(3, static_cast<unsigned>(good.size() + 1)));
}

TEST_CASE("IPv4 options are passed over") {
  const Bytes segment = tcp(peer4(), our4());
  Bytes header = packet(v4(), {});
  header[0] = std::byte{0x46};
  set16(header, 2, static_cast<unsigned>(24 + segment.size()));
  set16(header, 10, 0);
  append(header, bytes({1, 1, 1, 0}));
  set16(header, 10, slow_checksum(header));
  append(header, segment);
  Interface interface(our_config());
  REQUIRE(input(interface, ethernet(kOurMac, kPeerMac, 0x0800, header)) == Kind::tcp);
}

TEST_CASE("fragments are counted and dropped") {
  for (const unsigned fragment : {0x2000u, 0x0001u, 0x1fffu, 0x2001u}) {
    Ip header = v4();
    header.fragment = fragment;
    Interface interface(our_config());
    REQUIRE(input(interface, tcp_frame(header)) == Kind::dropped);
    REQUIRE(interface.counters().fragments == 1);
  }
  Ip header = v4();
  header.fragment = 0x4000;  // "do not fragment" is none
  Interface interface(our_config());
  REQUIRE(input(interface, tcp_frame(header)) == Kind::tcp);
  Bytes payload = extension(6);
  append(payload, tcp(peer6(), our6()));
  Ip fragmented = v6();
  fragmented.protocol = 44;
  REQUIRE(input(interface, ip_frame(fragmented, payload)) == Kind::dropped);
  REQUIRE(interface.counters().fragments == 1);
}

TEST_CASE("what is for others is not ours") {
  Interface interface(our_config());
  Ip other4 = v4(), other6 = v6(), multicast = v6(), broadcast = v4(), udp = v4();
  other4.destination = ip("10.0.0.9");
  other6.destination = ip("fd00::9");
  multicast.destination = ip("ff02::1");
  broadcast.destination = ip("10.0.0.255");
  udp.protocol = 17;
  std::uint64_t count = 0;
  for (const Bytes& frame :
       {tcp_frame(other4), tcp_frame(other6), tcp_frame(multicast), tcp_frame(broadcast), tcp_frame(udp),
        ethernet({{2, 0, 0, 0, 0, 7}}, kPeerMac, 0x0800, packet(v4(), tcp(peer4(), our4()))),
        ethernet(kOurMac, kPeerMac, 0x88cc, bytes({1, 2, 3}))}) {
    REQUIRE(input(interface, frame) == Kind::dropped);
    REQUIRE(interface.counters().not_for_us == ++count);
  }
  REQUIRE_FALSE(interface.next_frame());
}

TEST_CASE("a packet from a group or the unspecified address is refused") {
  for (const char* source : {"224.0.0.1", "0.0.0.0"}) {
    Ip header = v4();
    header.source = ip(source);
    Interface interface(our_config());
    REQUIRE(input(interface, tcp_frame(header)) == Kind::dropped);
    REQUIRE(interface.counters().malformed == 1);
  }
  for (const char* source : {"ff02::1", "::"}) {
    Ip header = v6();
    header.source = ip(source);
    Interface interface(our_config());
    REQUIRE(input(interface, tcp_frame(header)) == Kind::dropped);
    REQUIRE(interface.counters().malformed == 1);
  }
  Interface interface(our_config());
  REQUIRE(input(interface, ethernet(kOurMac, kEverybody, 0x0800, packet(v4(), tcp(peer4(), our4())))) ==
          Kind::dropped);
  REQUIRE(interface.counters().malformed == 1);
}

TEST_CASE("IPv6's extension headers lead to TCP") {
  Bytes payload = extension(60, 1);
  append(payload, extension(43));
  // A routing header of type 4 with no segments left.
  append(payload, extension(6, 0, /*third=*/4, /*fourth=*/0));
  append(payload, tcp(peer6(), our6()));
  Ip header = v6();
  header.protocol = 0;
  Interface interface(our_config());
  const auto result = interface.input(ip_frame(header, payload), {}, kStart);
  REQUIRE(result.kind == Kind::tcp);
  REQUIRE(result.tcp.bytes.size() == 24);
}

TEST_CASE("extension headers that run on, over or elsewhere are malformed") {
  const auto refused = [](unsigned first, const Bytes& payload) {
    Ip header = v6();
    header.protocol = first;
    Interface interface(our_config());
    return input(interface, ip_frame(header, payload)) == Kind::dropped &&
           interface.counters().malformed == 1;
  };
  REQUIRE(refused(0, {}));
  REQUIRE(refused(0, bytes({6, 0, 0, 0})));
  REQUIRE(refused(60, bytes({6, 255, 0, 0, 0, 0, 0, 0})));
  Bytes routed = extension(6, 0, 0, /*segments left=*/1);
  append(routed, tcp(peer6(), our6()));
  REQUIRE(refused(43, routed));
  Bytes many;
  for (int i = 0; i < 100; ++i) {
    append(many, extension(60));
  }
  REQUIRE(refused(60, many));
}

TEST_CASE("IPv6 between IPv4-mapped addresses is refused") {
  const auto forged = [](const IpAddress& source, const IpAddress& destination) {
    Bytes frame = tcp_frame(v6());
    std::copy(source.bytes.begin(), source.bytes.end(), frame.begin() + 22);
    std::copy(destination.bytes.begin(), destination.bytes.end(), frame.begin() + 38);
    return frame;
  };
  for (const auto& frame : {forged(peer4(), our4()), forged(peer6(), our4()), forged(peer4(), our6())}) {
    Interface interface(our_config());
    REQUIRE(input(interface, frame, {.tcp = ChecksumStatus::good}) == Kind::dropped);
    REQUIRE(interface.counters().malformed == 1);
  }
}

TEST_CASE("a tagged interface takes its VLAN alone, an untagged one no other") {
  const Bytes ip_packet = packet(v4(), tcp(peer4(), our4()));
  const auto taken = [&](std::uint16_t ours, const Bytes& frame) {
    InterfaceConfig config = our_config();
    config.vlan = ours;
    Interface interface(config);
    return input(interface, frame) == Kind::tcp;
  };
  const Bytes untagged = ethernet(kOurMac, kPeerMac, 0x0800, ip_packet);
  const Bytes seven = ethernet(kOurMac, kPeerMac, 0x0800, ip_packet, 7);
  const Bytes seven_urgent = ethernet(kOurMac, kPeerMac, 0x0800, ip_packet, 0xe007);
  const Bytes priority_only = ethernet(kOurMac, kPeerMac, 0x0800, ip_packet, 0xe000);
  REQUIRE(taken(0, untagged));
  REQUIRE(taken(0, priority_only));
  REQUIRE_FALSE(taken(0, seven));
  REQUIRE(taken(7, seven));
  REQUIRE(taken(7, seven_urgent));
  REQUIRE_FALSE(taken(7, untagged));
  REQUIRE_FALSE(taken(8, seven));
  REQUIRE_FALSE(taken(7, Bytes(seven.begin(), seven.begin() + 17)));
}
