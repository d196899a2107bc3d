// Arbitrary input: nothing may crash, hang, grow without bound, or be returned as something else than it is.
#include <catch2/catch.hpp>
#include <cstdlib>
#include <random>
#include <string>

#include "frames.h"

using namespace tfabric;
using namespace tfabric::net;

namespace {

std::uint64_t seed() {
  const char* text = std::getenv("TFABRIC_TEST_SEED");
  return text == nullptr ? 20240607 : std::strtoull(text, nullptr, 10);
}

// Frames that are right, as the ground for wrong ones.
std::vector<Bytes> good_frames() {
  std::vector<Bytes> frames{arp_frame({.sender = peer4(), .target = our4()})};
  for (const bool is_v4 : {true, false}) {
    Ip header{.source = is_v4 ? peer4() : peer6(), .destination = is_v4 ? our4() : our6(), .hop_limit = 255};
    const Bytes quotation = packet({.source = header.destination, .destination = header.source},
                                   tcp(header.destination, header.source));
    frames.push_back(ip_frame(header, tcp(header.source, header.destination)));
    header.protocol = is_v4 ? 1 : 58;
    frames.push_back(ip_frame(header, icmp(header, is_v4 ? 8 : 128, 0, 1, bytes({1, 2, 3}))));
    frames.push_back(ip_frame(header, icmp(header, is_v4 ? 3 : 2, is_v4 ? 4 : 0, 1400, quotation)));
    if (!is_v4) {
      Bytes target = bytes_of(our6());
      append(target, bytes({1, 1, 2, 0, 0, 0, 0, 2}));
      frames.push_back(ip_frame(header, icmp(header, 135, 0, 0, target)));
    }
  }
  frames.push_back(ethernet(kOurMac, kPeerMac, 0x0800, bytes({}), 7));
  return frames;
}

// Changes some bits and bytes, and sometimes the length.
Bytes spoil(Bytes frame, std::mt19937_64& random) {
  const auto changes = random() % 6;
  for (std::uint64_t i = 0; i < changes && !frame.empty(); ++i) {
    auto& byte = frame[random() % frame.size()];
    byte = random() % 2 == 0 ? byte ^ static_cast<std::byte>(1u << (random() % 8))
                             : static_cast<std::byte>(random());
  }
  if (random() % 4 == 0) {
    frame.resize(random() % (frame.size() + 40));
  }
  frame.shrink_to_fit();  // so that a sanitizer sees a read beyond the end
  return frame;
}

}  // namespace

TEST_CASE("garbage does no harm") {
  INFO("TFABRIC_TEST_SEED=" << seed());
  std::mt19937_64 random(seed());
  const auto good = good_frames();
  // Checksums that are "good" let spoiled frames through to what lies behind them.
  const RxMeta metas[] = {
      {}, {ChecksumStatus::good, ChecksumStatus::good}, {ChecksumStatus::unknown, ChecksumStatus::bad}};
  for (const bool trusted : {false, true}) {
    InterfaceConfig config = our_config();
    config.trusted_wire = trusted;
    Interface interface(config);
    Instant now = kStart;
    LinkHeader header;
    for (int i = 0; i < 100000; ++i) {
      const Bytes frame = spoil(good[random() % good.size()], random);
      now += std::chrono::microseconds(random() % 2000);
      const auto result = interface.input(frame, metas[random() % 3], now);
      if (result.kind == InputResult::Kind::tcp) {
        REQUIRE(interface.owns(result.tcp.destination));
        REQUIRE(result.tcp.bytes.size() >= 20);
        REQUIRE(result.tcp.bytes.data() >= frame.data());
        REQUIRE(result.tcp.bytes.data() + result.tcp.bytes.size() <= frame.data() + frame.size());
        REQUIRE(result.tcp.source.is_v4() == result.tcp.destination.is_v4());
      } else if (result.kind == InputResult::Kind::icmp_error) {
        REQUIRE(interface.owns(result.icmp.local));
      }
      interface.on_time(now);
      static_cast<void>(interface.prepare(our4(), result.tcp.source, header, now));
      for (int frames = 0; interface.next_frame(); ++frames) {
        REQUIRE(frames < 64);
      }
    }
    const auto& c = interface.counters();
    REQUIRE(c.malformed > 0);
    REQUIRE(c.tcp > 0);
    REQUIRE(c.arp > 0);
    REQUIRE(c.nd > 0);
    REQUIRE(c.icmp > 0);
  }
}

TEST_CASE("random bytes do no harm") {
  INFO("TFABRIC_TEST_SEED=" << seed());
  std::mt19937_64 random(seed());
  Interface interface(our_config());
  constexpr unsigned kTypes[] = {0x0800, 0x0806, 0x86dd, 0x8100};
  for (int i = 0; i < 200000; ++i) {
    Bytes frame(random() % 120);
    for (auto& byte : frame) {
      byte = static_cast<std::byte>(random());
    }
    if (frame.size() >= 14) {
      std::copy_n(std::as_bytes(std::span(kOurMac.bytes)).begin(), 6, frame.begin());
      set16(frame, 12, kTypes[random() % 4]);
    }
    const auto kind = interface.input(frame, {}, kStart).kind;
    REQUIRE((kind == InputResult::Kind::dropped || kind == InputResult::Kind::handled));
  }
}
