// The program of queue subsets, run by the kernel on single frames (BPF_PROG_TEST_RUN).
#include <linux/bpf.h>

#include <catch2/catch.hpp>
#include <cstdint>
#include <string_view>
#include <utility>
#include <vector>

#include "base/address.h"
#include "config/address.h"
#include "transport/tcp/nic/xdp/bpf.h"
#include "transport/tcp/nic/xdp/bytecode.h"
#include "transport/tcp/nic/xdp/program.h"

namespace tfabric::nic::xdp {
namespace {

using Frame = std::vector<std::uint8_t>;
constexpr std::size_t kType = 12, kIp = 14, kPort = 2, kTcpBytes = 20;
constexpr std::size_t kFragment = kIp + 6, kV4Protocol = kIp + 9, kV4To = kIp + 16;
constexpr std::size_t kV6Next = kIp + 6, kV6To = kIp + 24, kV6Bytes = 40;
constexpr std::uint8_t kTcp = 6, kUdp = 17;

Frame v4(std::string_view to, std::uint16_t port, std::size_t words = 5) {
  Frame frame(kIp + 4 * words + kTcpBytes);
  frame[kType] = 0x08;
  frame[kIp] = static_cast<std::uint8_t>(0x40 | words);
  frame[kV4Protocol] = kTcp;
  for (std::size_t i = 0; i < 4; ++i) {
    frame[kV4To + i] = std::to_integer<std::uint8_t>(net::parse_ip(to)->bytes[12 + i]);
  }
  frame[kIp + 4 * words + kPort] = static_cast<std::uint8_t>(port >> 8);
  frame[kIp + 4 * words + kPort + 1] = static_cast<std::uint8_t>(port);
  return frame;
}

Frame v6(std::string_view to, std::uint16_t port) {
  Frame frame(kIp + kV6Bytes + kTcpBytes);
  frame[kType] = 0x86, frame[kType + 1] = 0xdd;
  frame[kV6Next] = kTcp;
  for (std::size_t i = 0; i < 16; ++i) {
    frame[kV6To + i] = std::to_integer<std::uint8_t>(net::parse_ip(to)->bytes[i]);
  }
  frame[kIp + kV6Bytes + kPort] = static_cast<std::uint8_t>(port >> 8);
  frame[kIp + kV6Bytes + kPort + 1] = static_cast<std::uint8_t>(port);
  return frame;
}

Frame with(Frame frame, std::size_t at, std::uint8_t value) {
  frame.at(at) = value;
  return frame;
}
Frame cut(Frame frame, std::size_t bytes) {
  frame.resize(bytes);
  return frame;
}

config::IpBytes octets(std::string_view text) {
  config::IpBytes bytes;
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    bytes[i] = std::to_integer<std::uint8_t>(net::parse_ip(text)->bytes[i]);
  }
  return bytes;
}

// Whether a frame that comes in by queue 0 goes to the queue's socket.
bool is_led(const Descriptor& code, Frame frame) {
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
  CHECK(is_led(*code, cut(segment6, kIp + kV6Bytes + 4)));
  CHECK_FALSE(is_led(*code, cut(segment6, kIp + kV6Bytes + 3)));
}

}  // namespace tfabric::nic::xdp
