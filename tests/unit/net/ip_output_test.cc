#include <catch2/catch.hpp>
#include <random>

#include "frames.h"
#include "transport/tcp/net/checksum.h"

using namespace tfabric;
using namespace tfabric::net;
using Route = Interface::Route;

namespace {

// Makes the peers known, as their own requests would.
Interface ready_interface(InterfaceConfig config = our_config()) {
  Interface interface(std::move(config));
  for (const char* address : {"10.0.0.2", "10.0.0.254"}) {
    static_cast<void>(interface.input(arp_frame({.sender = ip(address), .target = our4()}), {}, kStart));
  }
  while (interface.next_frame()) {
  }
  return interface;
}

InterfaceConfig point_to_point() {
  InterfaceConfig config = our_config();
  config.point_to_point = true;
  return config;
}

// A whole frame: header, TCP header with its checksum field zero, payload in pieces.
Bytes finish(const LinkHeader& header, const IpAddress& source, const IpAddress& destination,
             std::size_t payload, TcpChecksum kind, std::mt19937& random, bool ecn_capable = false) {
  Bytes segment = tcp(source, destination, payload);
  set16(segment, 16, 0);
  Bytes packet_bytes(header.bytes.begin(), header.bytes.begin() + header.size);
  append(packet_bytes, std::span(segment).first(20));
  TcpPayload summed{.size = payload};
  for (std::size_t at = 20; at < segment.size();) {
    const std::size_t size = std::min<std::size_t>(random() % 100, segment.size() - at);
    summed.sum.add(std::span(segment).subspan(at, size));
    at += size;
  }
  finish_tcp_packet(header, packet_bytes, summed, 0xabcd, kind, ecn_capable);
  append(packet_bytes, std::span(segment).subspan(20));
  return packet_bytes;
}

}  // namespace

TEST_CASE("a header has the addresses, and no fragmentation") {
  Interface interface = ready_interface();
  LinkHeader header;
  REQUIRE(interface.prepare(our4(), peer4(), header, kStart) == Route::ready);
  REQUIRE(header.v4);
  REQUIRE(header.ip_offset == 14);
  REQUIRE(header.size == 34);
  Bytes expected = packet({.source = our4(), .destination = peer4(), .fragment = 0x4000}, {});
  set16(expected, 2, 0);
  set16(expected, 4, 0);
  set16(expected, 10, 0);
  REQUIRE(Bytes(header.bytes.begin(), header.bytes.begin() + header.size) ==
          ethernet(kPeerMac, kOurMac, 0x0800, expected));
}

TEST_CASE("a finished packet is one that arrives, whatever its pieces") {
  std::mt19937 random(6);
  for (const bool v4 : {true, false}) {
    const IpAddress us = v4 ? our4() : our6(), peer = v4 ? peer4() : peer6();
    for (const std::size_t payload : {0u, 1u, 2u, 777u, 1460u, 8949u}) {
      Interface interface = ready_interface(point_to_point());
      LinkHeader header;
      REQUIRE(interface.prepare(us, peer, header, kStart) == Route::ready);
      const Bytes frame = finish(header, us, peer, payload, TcpChecksum::software, random);
      REQUIRE(Bytes(frame.begin() + header.size, frame.end()) == tcp(us, peer, payload));
      if (v4) {
        REQUIRE(at16(frame, 14 + 4) == 0xabcd);
      }
      InterfaceConfig config = our_config();
      config.addresses = {{peer4(), 24}, {peer6(), 64}};
      Interface other(config);
      const auto result = other.input(frame, {}, kStart);
      REQUIRE(result.kind == InputResult::Kind::tcp);
      REQUIRE(result.tcp.source == us);
      REQUIRE(result.tcp.bytes.size() == 20 + payload);
    }
  }
}

TEST_CASE("for a NIC's checksum the pseudo-header's sum is stored") {
  std::mt19937 random(7);
  for (const bool v4 : {true, false}) {
    const IpAddress us = v4 ? our4() : our6(), peer = v4 ? peer4() : peer6();
    Interface interface = ready_interface(point_to_point());
    LinkHeader header;
    REQUIRE(interface.prepare(us, peer, header, kStart) == Route::ready);
    Bytes frame = finish(header, us, peer, 100, TcpChecksum::hardware, random);
    // What the NIC does: the sum over the segment, with what it finds in the field.
    const unsigned made = slow_checksum(std::span(frame).subspan(header.size));
    set16(frame, header.size + 16u, made);
    REQUIRE(Bytes(frame.begin() + header.size, frame.end()) == tcp(us, peer, 100));
  }
}

TEST_CASE("on a trusted wire no checksum is made") {
  std::mt19937 random(8);
  Interface interface = ready_interface(point_to_point());
  LinkHeader header;
  REQUIRE(interface.prepare(our4(), peer4(), header, kStart) == Route::ready);
  const Bytes frame = finish(header, our4(), peer4(), 100, TcpChecksum::none, random);
  REQUIRE(at16(frame, 14 + 2) == 20 + 20 + 100);
  REQUIRE(at16(frame, 14 + 10) == 0);
  REQUIRE(at16(frame, header.size + 16u) == 0);
}

TEST_CASE("with a VLAN the headers are tagged, and what is sent alone as well") {
  InterfaceConfig config = our_config();
  config.vlan = 7;
  Interface interface(config);
  LinkHeader header;
  REQUIRE(interface.prepare(our4(), peer4(), header, kStart) == Route::pending);
  const auto request = interface.next_frame();
  REQUIRE(request.has_value());
  REQUIRE(at16(*request, 12) == 0x8100);
  REQUIRE(at16(*request, 14) == 7);
  REQUIRE(at16(*request, 16) == 0x0806);
  interface.announce(kStart);
  while (const auto frame = interface.next_frame()) {
    REQUIRE(at16(*frame, 14) == 7);
  }
  config.point_to_point = true;
  Interface wire(config);
  REQUIRE(wire.prepare(our6(), peer6(), header, kStart) == Route::ready);
  REQUIRE(header.ip_offset == 18);
  REQUIRE(header.size == kMaxLinkHeaderBytes);
  REQUIRE(at16(header.bytes, 14) == 7);
  REQUIRE(at16(header.bytes, 16) == 0x86dd);
}

TEST_CASE("destinations beyond our networks go to the gateway, and nowhere without one") {
  Interface interface = ready_interface();
  LinkHeader header;
  REQUIRE(interface.prepare(our4(), ip("192.0.2.1"), header, kStart) == Route::ready);
  REQUIRE(interface.prepare(our6(), ip("2001:db8::1"), header, kStart) == Route::pending);
  const auto request = interface.next_frame();
  REQUIRE(request.has_value());
  REQUIRE(Bytes(request->begin() + 62, request->begin() + 78) == bytes_of(ip("fe80::fe")));
  InterfaceConfig config = our_config();
  config.gateway_v4.reset();
  config.gateway_v6.reset();
  Interface alone(config);
  REQUIRE(alone.prepare(our4(), ip("192.0.2.1"), header, kStart) == Route::unreachable);
  REQUIRE(alone.prepare(our6(), ip("2001:db8::1"), header, kStart) == Route::unreachable);
}

TEST_CASE("between two ends no neighbour is asked, and ourselves are reached by our own MAC") {
  Interface wire(point_to_point());
  LinkHeader header;
  REQUIRE(wire.prepare(our4(), peer4(), header, kStart) == Route::ready);
  REQUIRE(at16(header.bytes, 0) == 0xffff);
  REQUIRE(wire.prepare(our4(), our4(), header, kStart) == Route::ready);
  REQUIRE(at16(header.bytes, 0) == 0x0200);
  wire.announce(kStart);
  REQUIRE_FALSE(wire.next_frame());
}

TEST_CASE("the source is the address in the destination's network, else one of its family") {
  InterfaceConfig config = our_config();
  config.addresses = {{ip("192.0.2.5"), 24}, {our4(), 24}, {our6(), 64}};
  const Interface interface(config);
  REQUIRE(interface.source_for(peer4()) == our4());
  REQUIRE(interface.source_for(ip("8.8.8.8")) == ip("192.0.2.5"));
  REQUIRE(interface.source_for(peer6()) == our6());
  REQUIRE(interface.source_for(ip("2001:db8::1")) == our6());
  config.addresses = {{our6(), 64}};
  REQUIRE_FALSE(Interface(config).source_for(peer4()));
}

TEST_CASE("a packet that is capable of ECN says so, and its checksum is right") {
  std::mt19937 random(7);
  for (const bool v4 : {true, false}) {
    const IpAddress us = v4 ? our4() : our6(), peer = v4 ? peer4() : peer6();
    Interface interface = ready_interface(point_to_point());
    LinkHeader header;
    REQUIRE(interface.prepare(us, peer, header, kStart) == Route::ready);
    const Bytes frame = finish(header, us, peer, 100, TcpChecksum::software, random, /*ecn_capable=*/true);
    // ECT(0), and nothing else in the traffic class (RFC 3168 §5).
    REQUIRE(frame[14 + 1] == (v4 ? std::byte{0x02} : std::byte{0x20}));
    if (v4) {
      Checksum checksum;
      checksum.add(std::span(frame).subspan(14, 20));
      REQUIRE(checksum.finish() == 0);
    }
  }
}
