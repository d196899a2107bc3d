#include <catch2/catch.hpp>

#include "frames.h"
#include "transport/tcp/net/interface.h"

using namespace tfabric;
using namespace tfabric::net;
using Use = FrameUse::Kind;

namespace {

constexpr unsigned kTypeV4 = 0x0800, kTypeV6 = 0x86dd;

Bytes frame_between(const IpAddress& source, const IpAddress& destination, std::uint16_t vlan = 0) {
  return ethernet(kOurMac, kPeerMac, destination.is_v4() ? kTypeV4 : kTypeV6,
                  packet({.source = source, .destination = destination}, tcp(source, destination)), vlan);
}

Bytes icmp_frame(const IpAddress& source, const IpAddress& destination, unsigned type) {
  const Ip header{.source = source, .destination = destination, .protocol = destination.is_v4() ? 1u : 58u};
  return ip_frame(header, icmp(header, type, 0, 0, {}));
}

Use use(const Bytes& frame) { return use_of(frame).kind; }

}  // namespace

TEST_CASE("a TCP segment is recognised with its destination port, with a VLAN tag and without") {
  for (const std::uint16_t vlan : {0, 7}) {
    for (const Bytes& frame : {frame_between(peer4(), our4(), vlan), frame_between(peer6(), our6(), vlan)}) {
      CHECK(use(frame) == Use::tcp);
      CHECK(use_of(frame).port == 2000);
    }
  }
}

TEST_CASE("a TCP segment after IPv4 options and IPv6 extension headers is recognised as well") {
  Bytes v4 = frame_between(peer4(), our4());
  v4[14] = std::byte{0x46};
  v4.insert(v4.begin() + 34, 4, std::byte{1});
  CHECK(use_of(v4).port == 2000);
  Bytes v6 = frame_between(peer6(), our6());
  v6[20] = std::byte{0};  // hop-by-hop options, of 16 bytes, before TCP
  Bytes options(16, std::byte{0});
  options[0] = std::byte{6};
  options[1] = std::byte{1};
  v6.insert(v6.begin() + 54, options.begin(), options.end());
  CHECK(use(v6) == Use::tcp);
  CHECK(use_of(v6).port == 2000);
}

TEST_CASE("a fragment is not taken for a segment") {
  const Ip header{.source = peer4(), .destination = our4(), .fragment = 0x2000};
  CHECK(use(ip_frame(header, tcp(peer4(), our4()))) == Use::other);
}

TEST_CASE("neighbours' messages and ICMP errors are news for all engines, echo is not") {
  CHECK(use(arp_frame({.sender = peer4(), .target = our4()})) == Use::news);
  CHECK(use(icmp_frame(peer4(), our4(), 3)) == Use::news);
  CHECK(use(icmp_frame(peer6(), our6(), 2)) == Use::news);
  CHECK(use(icmp_frame(peer6(), our6(), 135)) == Use::news);
  CHECK(use(icmp_frame(peer6(), our6(), 136)) == Use::news);
  CHECK(use(icmp_frame(peer4(), our4(), 8)) == Use::other);
  CHECK(use(icmp_frame(peer6(), our6(), 128)) == Use::other);
}

TEST_CASE("a frame that ends early is classified by the bytes there are, and never read beyond its end") {
  for (const Bytes& whole : {frame_between(peer4(), our4()), frame_between(peer6(), our6(), 7),
                             arp_frame({.sender = peer4(), .target = our4()})}) {
    for (std::size_t size = 0; size < whole.size(); ++size) {
      const Bytes part(whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(size));
      const FrameUse told = use_of(part);
      CHECK((told.kind != Use::tcp || told.port == 2000));
    }
  }
}

TEST_CASE("an overheard request teaches as much as one of our own, and is not answered") {
  Interface interface(our_config());
  LinkHeader header;
  interface.input(arp_frame({.sender = peer4(), .target = our4()}), {.overheard = true}, kStart);
  const Ip v6{.source = peer6(), .destination = our6(), .protocol = 58, .hop_limit = 255};
  Bytes target = bytes_of(our6());
  append(target, bytes({1, 1, 2, 0, 0, 0, 0, 2}));
  interface.input(ip_frame(v6, icmp(v6, 135, 0, 0, target)), {.overheard = true}, kStart);
  CHECK_FALSE(interface.next_frame());
  CHECK(interface.prepare(our4(), peer4(), header, kStart) == Interface::Route::ready);
  CHECK(interface.prepare(our6(), peer6(), header, kStart) == Interface::Route::ready);
}
