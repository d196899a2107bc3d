// Frames from the wire into an interface: none may crash it, be passed up as something else, or make it send
// without bound. What header prediction says of one is what the look at its headers says.
//
// The first byte chooses the interface (bit 0: a trusted wire, 1: a VLAN, 2: two ends) and what the driver
// says of checksums (bits 3 and 4), and whether connections make progress (bit 5). Then come frames: each a
// byte of options (bit 0: fix the IP checksum and the upper layer's, 1: a second passes before, 2: the
// connections to where an answer goes are in doubt), two of length, its bytes.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <span>
#include <vector>

#include "transport/tcp/net/checksum.h"
#include "transport/tcp/net/interface.h"
#include "transport/tcp/net/wire.h"

using namespace tfabric;
using namespace tfabric::net;

namespace {

constexpr std::size_t kMaxFrames = 64;
constexpr std::size_t kMaxWaiting = 64;  // frames of the interface's own

void require(bool condition) {
  if (!condition) {
    std::abort();
  }
}

InterfaceConfig config_of(std::uint8_t choice) {
  return {.name = "fuzz",
          .mac = {{2, 0, 0, 0, 0, 1}},
          .addresses = {*parse_prefix("10.0.0.1/24"), *parse_prefix("fd00::1/64")},
          .gateway_v4 = parse_ip("10.0.0.254"),
          .gateway_v6 = parse_ip("fe80::fe"),
          .vlan = static_cast<std::uint16_t>((choice & 2) != 0 ? 7 : 0),
          .point_to_point = (choice & 4) != 0,
          .trusted_wire = (choice & 1) != 0};
}

void store_checksum(std::span<std::byte> packet, std::size_t at, Checksum checksum) {
  const std::uint16_t value = checksum.finish();
  std::memcpy(&packet[at], &value, 2);
}

// Writes the checksum of the upper layer, if it has one.
void fix_upper(std::span<std::byte> payload, std::uint8_t protocol, const IpAddress& source,
               const IpAddress& destination) {
  const std::size_t at = protocol == kProtocolTcp ? 16 : 2;
  if (payload.size() < at + 2 ||
      (protocol != kProtocolTcp && protocol != kProtocolIcmp && protocol != kProtocolIcmpv6)) {
    return;
  }
  put16(&payload[at], 0);
  Checksum checksum;
  if (protocol != kProtocolIcmp) {
    checksum.add_pseudo_header(source, destination, protocol, static_cast<std::uint32_t>(payload.size()));
  }
  checksum.add(payload);
  store_checksum(payload, at, checksum);
}

// Fixes checksums, which a fuzzer seldom guesses: few frames would pass them.
void fix_checksums(std::span<std::byte> frame) {
  const std::size_t offset = frame.size() > 18 && get16(&frame[12]) == kEtherTypeVlan ? 18 : 14;
  if (frame.size() < offset + kIpv4HeaderBytes) {
    return;
  }
  const auto packet = frame.subspan(offset);
  const unsigned version = get8(packet.data()) >> 4;
  if (version == 4) {
    const std::size_t header = std::size_t{get8(packet.data()) & 0x0fu} * 4;
    const std::size_t total = get16(&packet[2]);
    if (header < kIpv4HeaderBytes || header > total || total > packet.size()) {
      return;
    }
    const auto address = [&](std::size_t at) {
      return IpAddress::v4(
          {get8(&packet[at]), get8(&packet[at + 1]), get8(&packet[at + 2]), get8(&packet[at + 3])});
    };
    fix_upper(packet.subspan(header, total - header), get8(&packet[9]), address(12), address(16));
    put16(&packet[10], 0);
    Checksum checksum;
    checksum.add(packet.first(header));
    store_checksum(packet, 10, checksum);
  } else if (version == 6 && packet.size() >= kIpv6HeaderBytes &&
             get16(&packet[4]) <= packet.size() - kIpv6HeaderBytes) {
    IpAddress source, destination;
    std::memcpy(source.bytes.data(), &packet[8], 16);
    std::memcpy(destination.bytes.data(), &packet[24], 16);
    auto payload = packet.subspan(kIpv6HeaderBytes, get16(&packet[4]));
    std::uint8_t protocol = get8(&packet[6]);
    if (protocol == kHopByHop && payload.size() >= 2) {
      const std::size_t options = (std::size_t{get8(&payload[1])} + 1) * 8;
      protocol = get8(payload.data());
      payload = payload.subspan(std::min(options, payload.size()));
    }
    fix_upper(payload, protocol, source, destination);
  }
}

void check(const Interface& interface, const InputResult& result, std::span<const std::byte> frame) {
  if (result.kind == InputResult::Kind::tcp) {
    const auto bytes = result.tcp.bytes;
    require(bytes.size() >= 20 && bytes.data() >= frame.data());
    require(bytes.data() + bytes.size() <= frame.data() + frame.size());
    require(interface.owns(result.tcp.destination));
    require(result.tcp.source.is_v4() == result.tcp.destination.is_v4());
    require(!result.tcp.source.is_multicast());
  } else if (result.kind == InputResult::Kind::icmp_error) {
    require(interface.owns(result.icmp.local));
  }
}

// Both ways of taking a frame in, where the pattern of an earlier one matches.
void check_pattern(Interface& interface, const HeaderPattern& pattern, const InputResult& result,
                   std::span<const std::byte> frame, const RxMeta& meta) {
  if (!pattern.matches(frame)) {
    return;
  }
  const auto known = interface.input_known(pattern, frame, meta);
  require(known.has_value() == (result.kind == InputResult::Kind::tcp));
  require(!known ||
          (known->bytes.data() == result.tcp.bytes.data() && known->bytes.size() == result.tcp.bytes.size() &&
           result.tcp.more == 0 && known->congestion_experienced == result.tcp.congestion_experienced));
}

// Connections that make progress all the time, or never.
struct Connections final : UpperLayer {
  explicit Connections(bool go_on) : progress(go_on) {}
  [[nodiscard]] bool has_progress(const IpAddress& /*neighbour*/, Instant /*since*/) const override {
    return progress;
  }
  bool progress;
};

// Sends to the source of the frame, as an answer would.
void answer(Interface& interface, const InputResult& result, bool doubted, Instant now) {
  LinkHeader header;
  const IpAddress to = result.kind == InputResult::Kind::tcp ? result.tcp.source : *parse_ip("10.0.0.2");
  const auto source = interface.source_for(to);
  if (source && interface.prepare(*source, to, header, now) == Interface::Route::ready) {
    require(header.size <= kMaxLinkHeaderBytes && header.v4 == to.is_v4());
    static_cast<void>(interface.is_silent(to, now));
  }
  if (doubted) {
    interface.doubt(to, now);
  }
  std::size_t frames = 0;
  while (const auto frame = interface.next_frame()) {
    require(++frames <= kMaxWaiting && frame->size() >= kEthernetHeaderBytes);
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) {
    return 0;
  }
  std::span<const std::uint8_t> input(data, size);
  const std::uint8_t choice = input[0];
  input = input.subspan(1);
  Interface interface(config_of(choice));
  constexpr ChecksumStatus kStatus[] = {ChecksumStatus::unknown, ChecksumStatus::good, ChecksumStatus::bad,
                                        ChecksumStatus::unknown};
  const RxMeta meta{.ip = ChecksumStatus::unknown, .tcp = kStatus[choice >> 3 & 3]};
  const Connections connections((choice & 32) != 0);
  Instant now{std::chrono::hours(1)};
  interface.announce(now);
  HeaderPattern pattern;
  for (std::size_t i = 0; i < kMaxFrames && input.size() > 3; ++i) {
    const std::uint8_t options = input[0];
    const std::size_t length = std::min<std::size_t>(std::size_t{input[1]} << 8 | input[2], input.size() - 3);
    // A copy of exactly its size, so that AddressSanitizer sees a read beyond it.
    const auto bytes = std::as_bytes(input.subspan(3, length));
    std::vector<std::byte> frame(bytes.begin(), bytes.end());
    input = input.subspan(3 + length);
    if ((options & 1) != 0) {
      fix_checksums(frame);
    }
    now += (options & 2) != 0 ? Duration(std::chrono::seconds(1)) : Duration(std::chrono::milliseconds(1));
    const InputResult result = interface.input(frame, meta, now);
    check(interface, result, frame);
    check_pattern(interface, pattern, result, frame, meta);
    if (result.kind == InputResult::Kind::tcp) {
      pattern.learn(frame);
    }
    interface.on_time(now, &connections);
    require(interface.next_deadline() > now);
    answer(interface, result, (options & 4) != 0, now);
  }
  return 0;
}
