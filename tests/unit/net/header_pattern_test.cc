// Header prediction against the look at each header: whatever is done to a frame, both say the same of it.
#include "transport/tcp/net/header_pattern.h"

#include <catch2/catch.hpp>
#include <random>

#include "frames.h"

using namespace tfabric;
using namespace tfabric::net;
using Kind = InputResult::Kind;

namespace {

Bytes tcp_frame(bool v4, std::size_t payload) {
  const Ip header =
      v4 ? Ip{.source = peer4(), .destination = our4()} : Ip{.source = peer6(), .destination = our6()};
  return ip_frame(header, tcp(header.source, header.destination, payload));
}

HeaderPattern learned(const Bytes& frame) {
  Interface interface(our_config());
  REQUIRE(interface.input(frame, {}, kStart).kind == Kind::tcp);
  HeaderPattern pattern;
  pattern.learn(frame);
  return pattern;
}

// Returns true if the pattern matches.
bool compare(const HeaderPattern& pattern, const InterfaceConfig& config, const Bytes& frame,
             const RxMeta& meta) {
  if (!pattern.matches(frame)) {
    return false;
  }
  Interface slow(config), fast(config);
  const InputResult result = slow.input(frame, meta, kStart);
  const auto known = fast.input_known(pattern, frame, meta);
  REQUIRE(known.has_value() == (result.kind == Kind::tcp));
  if (known) {
    REQUIRE(known->bytes.data() == result.tcp.bytes.data());
    REQUIRE(known->bytes.size() == result.tcp.bytes.size());
    REQUIRE(known->congestion_experienced == result.tcp.congestion_experienced);
    REQUIRE(result.tcp.more == 0);
  }
  REQUIRE(fast.counters().tcp == slow.counters().tcp);
  REQUIRE(fast.counters().malformed + fast.counters().bad_checksum + fast.counters().not_for_us == 0);
  return true;
}

}  // namespace

TEST_CASE("a pattern is that of the addresses, ports and kind of a packet, and of nothing else") {
  for (const bool v4 : {true, false}) {
    const Bytes frame = tcp_frame(v4, 100);
    const HeaderPattern pattern = learned(frame);
    REQUIRE(pattern.v4() == v4);
    REQUIRE(pattern.matches(frame));
    const std::size_t ports = v4 ? 34 : 54;
    const auto changes = [&](std::size_t at, unsigned bit) {
      const std::size_t in_ip = at - 14;
      if (at < 14 || at >= ports) {
        return at >= ports + 4;
      }
      if (v4) {
        // DSCP and ECN, total length, identification; not fragmentation; time to live; checksum.
        return (in_ip >= 1 && in_ip <= 5) || (in_ip == 6 && bit >= 6) || in_ip == 8 || in_ip == 10 ||
               in_ip == 11;
      }
      // Traffic class, flow label, payload length, hop limit.
      return (in_ip == 0 && bit < 4) || (in_ip >= 1 && in_ip <= 5) || in_ip == 7;
    };
    for (std::size_t at = 0; at < frame.size(); ++at) {
      for (unsigned bit = 0; bit < 8; ++bit) {
        Bytes other = frame;
        other[at] ^= static_cast<std::byte>(1u << bit);
        INFO((v4 ? "IPv4" : "IPv6") << ", byte " << at << ", bit " << bit);
        REQUIRE(pattern.matches(other) == changes(at, bit));
      }
    }
    for (std::size_t size = 0; size < frame.size(); ++size) {
      REQUIRE(pattern.matches(std::span(frame).first(size)) == (size >= ports + 4));
    }
  }
}

TEST_CASE("frames of other forms are not learned") {
  const auto nothing = [](const Bytes& frame) {
    HeaderPattern pattern;
    pattern.learn(frame);
    return !pattern.matches(frame);
  };
  const Bytes segment = tcp(peer4(), our4());
  REQUIRE(nothing({}));
  REQUIRE(nothing(Bytes(20)));
  REQUIRE(nothing(
      ethernet(kOurMac, kPeerMac, 0x0800, packet({.source = peer4(), .destination = our4()}, segment), 7)));
  Bytes options = tcp_frame(true, 100);
  options[14] = std::byte{0x46};
  REQUIRE(nothing(options));
  Bytes extension = tcp_frame(false, 100);
  extension[20] = std::byte{0};
  REQUIRE(nothing(extension));
  HeaderPattern pattern;
  REQUIRE_FALSE(pattern.matches(segment));
  pattern.learn(tcp_frame(true, 4));
  REQUIRE(pattern.matches(tcp_frame(true, 4)));
  pattern.forget();
  REQUIRE_FALSE(pattern.matches(tcp_frame(true, 4)));
}

TEST_CASE("a frame that a pattern matches is taken as if each header were looked at") {
  constexpr ChecksumStatus kStatus[] = {ChecksumStatus::unknown, ChecksumStatus::good, ChecksumStatus::bad};
  std::mt19937_64 random(7);
  int matched = 0, taken = 0;
  for (int round = 0; round < 200'000; ++round) {
    const bool v4 = random() % 2 == 0;
    const HeaderPattern pattern = [&] {
      HeaderPattern made;
      made.learn(tcp_frame(v4, random() % 4));
      return made;
    }();
    Bytes frame = tcp_frame(v4, random() % 200);
    frame.resize(frame.size() + random() % 3);
    for (auto changes = random() % 3; changes > 0; --changes) {
      const std::size_t at = random() % (random() % 2 == 0 ? frame.size() : 40);
      frame[at] ^= static_cast<std::byte>(random() % 4 == 0 ? random() : 1u << random() % 8);
    }
    if (random() % 8 == 0) {
      frame.resize(random() % frame.size());
    }
    InterfaceConfig config = our_config();
    config.trusted_wire = random() % 3 == 0;
    const RxMeta meta{.ip = kStatus[random() % 3], .tcp = kStatus[random() % 3]};
    INFO("round " << round);
    if (compare(pattern, config, frame, meta)) {
      ++matched;
      taken += Interface(config).input(frame, meta, kStart).kind == Kind::tcp ? 1 : 0;
    }
  }
  CHECK(matched > 50'000);
  CHECK(taken > 10'000);
  CHECK(taken < matched);
}

TEST_CASE("the mix of a frame's ports is that of the ports") {
  for (const bool v4 : {true, false}) {
    const Bytes frame = tcp_frame(v4, 100);
    REQUIRE(mixed_ports(frame) == mixed_ports(1000, 2000));
    REQUIRE(mixed_ports(frame) == mixed_ports(2000, 1000));
  }
  REQUIRE(mixed_ports(Bytes{}) == 0);
}
