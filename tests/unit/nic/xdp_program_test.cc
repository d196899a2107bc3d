// The program of queue subsets, run by the kernel on single frames (BPF_PROG_TEST_RUN).
#include <linux/bpf.h>

#include <algorithm>
#include <catch2/catch.hpp>
#include <cstdint>
#include <string_view>
#include <vector>

#include "base/address.h"
#include "config/address.h"
#include "transport/tcp/net/wire.h"
#include "transport/tcp/nic/xdp/bpf.h"
#include "transport/tcp/nic/xdp/bytecode.h"
#include "transport/tcp/nic/xdp/program.h"

namespace tfabric::nic::xdp {
namespace {

using Frame = std::vector<std::byte>;
constexpr std::size_t kType = 12, kIp = net::kEthernetHeaderBytes, kPort = 2, kTcpBytes = 20;
constexpr std::size_t kFragment = kIp + 6, kV4Protocol = kIp + 9, kV4To = kIp + 16;
constexpr std::size_t kV6Next = kIp + 6, kV6To = kIp + 24;
constexpr std::uint8_t kUdp = 17;

Frame segment_of(unsigned type, std::size_t ip_bytes, std::uint16_t port) {
  Frame frame(kIp + ip_bytes + kTcpBytes);
  net::put16(&frame[kType], type);
  net::put16(&frame[kIp + ip_bytes + kPort], port);
  return frame;
}

Frame v4(std::string_view to, std::uint16_t port, unsigned words = 5) {
  Frame frame = segment_of(net::kEtherTypeIpv4, 4 * std::size_t{words}, port);
  net::put8(&frame[kIp], 0x40 | words);
  net::put8(&frame[kV4Protocol], net::kProtocolTcp);
  std::copy_n(&net::parse_ip(to)->bytes[12], 4, &frame[kV4To]);
  return frame;
}

Frame v6(std::string_view to, std::uint16_t port) {
  Frame frame = segment_of(net::kEtherTypeIpv6, net::kIpv6HeaderBytes, port);
  net::put8(&frame[kV6Next], net::kProtocolTcp);
  std::copy_n(net::parse_ip(to)->bytes.data(), 16, &frame[kV6To]);
  return frame;
}

Frame with(Frame frame, std::size_t at, std::uint8_t value) {
  frame.at(at) = std::byte{value};
  return frame;
}
Frame cut(Frame frame, std::size_t bytes) {
  frame.resize(bytes);
  return frame;
}

config::IpBytes octets(std::string_view text) { return net::octets_of(*net::parse_ip(text)); }

// Whether a frame that comes in by queue 0 goes to the queue's socket.
bool is_led(const Descriptor& code, const Frame& frame) {
  bpf_attr run{};
  run.test.prog_fd = static_cast<std::uint32_t>(code.get());
  run.test.data_in = reinterpret_cast<std::uintptr_t>(frame.data());
  run.test.data_size_in = static_cast<std::uint32_t>(frame.size());
  REQUIRE(bpf(BPF_PROG_TEST_RUN, run) == 0);
  REQUIRE((run.test.retval == XDP_PASS || run.test.retval == XDP_REDIRECT));
  return run.test.retval == XDP_REDIRECT;
}

}  // namespace

TEST_CASE("TCP segments for an address and a port of the queue go to its socket, all else to the kernel",
          "[native]") {
  auto program = load_subset_program();
  if (!program) {
    WARN("skipped: " + program.error().message);
    return;
  }
  REQUIRE(add_address(*program, octets("10.9.0.1")).ok());
  REQUIRE(add_address(*program, octets("fd09::1")).ok());
  REQUIRE(set_ports(*program, 0, {.first = 50000, .last = 50099}).ok());
  // A socket would have to be bound to an interface; an interface in its place is redirected to alike.
  constexpr std::uint32_t kWord = sizeof(std::uint32_t), kQueue = 0, kLoopback = 1;
  const Descriptor interfaces =
      make_map(BPF_MAP_TYPE_DEVMAP, {.key = kWord, .value = kWord, .entries = 1}, "interfaces");
  REQUIRE(interfaces.get() >= 0);
  REQUIRE(update(interfaces, &kQueue, &kLoopback) == 0);
  const auto code = load_xdp({.code = bytecode::lead_segments,
                              .maps = {interfaces.get(), program->addresses.get(), program->ports.get()}},
                             "test");
  REQUIRE(code.ok());

  for (const std::uint16_t port : {50000, 50050, 50099}) {
    CHECK(is_led(*code, v4("10.9.0.1", port)));
    CHECK(is_led(*code, v6("fd09::1", port)));
  }
  for (const std::uint16_t port : {80, 49999, 50100}) {
    CHECK_FALSE(is_led(*code, v4("10.9.0.1", port)));
    CHECK_FALSE(is_led(*code, v6("fd09::1", port)));
  }
  CHECK_FALSE(is_led(*code, v4("10.9.0.2", 50000)));
  CHECK_FALSE(is_led(*code, v6("fd09::2", 50000)));

  const Frame segment = v4("10.9.0.1", 50000), segment6 = v6("fd09::1", 50000);
  CHECK(is_led(*code, v4("10.9.0.1", 50000, 15)));  // with options
  CHECK_FALSE(is_led(*code, cut(v4("10.9.0.1", 50000, 15), kIp + 60 + 3)));
  CHECK(is_led(*code, with(segment, kFragment, 0x40)));  // "don't fragment"
  CHECK_FALSE(is_led(*code, with(segment, kFragment, 0x20)));
  CHECK_FALSE(is_led(*code, with(segment, kFragment + 1, 1)));
  CHECK_FALSE(is_led(*code, with(segment, kV4Protocol, kUdp)));
  CHECK_FALSE(is_led(*code, with(segment6, kV6Next, kUdp)));
  CHECK_FALSE(is_led(*code, with(segment, kType + 1, 6)));  // ARP
  CHECK_FALSE(is_led(*code, cut(segment, segment.size() - 1)));
  CHECK(is_led(*code, cut(segment6, kIp + net::kIpv6HeaderBytes + 4)));
  CHECK_FALSE(is_led(*code, cut(segment6, kIp + net::kIpv6HeaderBytes + 3)));
}

}  // namespace tfabric::nic::xdp
