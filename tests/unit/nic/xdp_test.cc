// AF_XDP: the program that the kernel runs, and a port over its sockets.
#include <net/if.h>
#include <rte_mbuf.h>
#include <sched.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <catch2/catch.hpp>
#include <chrono>
#include <cstring>
#include <functional>
#include <span>
#include <string>
#include <thread>

#include "config/rail_kinds.h"
#include "host/interfaces.h"
#include "tests/unit/nic/eal_fixture.h"
#include "transport/tcp/nic/device_arguments.h"
#include "transport/tcp/nic/pools.h"
#include "transport/tcp/nic/port.h"
#include "transport/tcp/nic/xdp/bpf.h"
#include "transport/tcp/nic/xdp/bytecode.h"
#include "transport/tcp/nic/xdp/redirect.h"

using Catch::Contains;

namespace tfabric::nic {
namespace {

// Calls `what` in a new network namespace, whose loopback is up and can be used by AF_XDP.
void where_xdp_is(const std::function<void()>& what) {
  std::string why;
  std::thread([&] {
    const int fd = unshare(CLONE_NEWNET) == 0 ? socket(AF_INET, SOCK_DGRAM, 0) : -1;
    ifreq lo{};
    std::strcpy(lo.ifr_name, "lo");
    lo.ifr_flags = IFF_UP;
    if (fd < 0 || ioctl(fd, SIOCSIFFLAGS, &lo) != 0) {
      why = "network namespaces need root";
    } else if (const auto attached = xdp::Redirect::attach("lo", 1); !attached) {
      why = attached.error().message;
    } else {
      CHECK(host::xdp_program_of("lo") != 0);
    }
    if (why.empty()) {
      what();
      CHECK(host::xdp_program_of("lo") == 0);
    }
    close(fd);
  }).join();
  if (!why.empty()) {
    WARN("skipped: " + why);
  }
}

PortConfig loopback_port() {
  return {
      .name = "x", .device = af_xdp_arguments("lo", 0, 1), .mtu = config::kMostAfXdpMtu, .rx_buffers = 4096};
}

// Sends a frame of so many bytes, and returns what is wrong with the frame that comes back. Throws nothing,
// since it is called in a thread.
std::string given_back_by_loopback(unsigned size) {
  auto port = Port::open(loopback_port());
  if (!port) {
    return port.error().message;
  }
  rte_mbuf* out = (*port)->allocate_payload(size);
  auto* bytes = out == nullptr ? nullptr : reinterpret_cast<unsigned char*>(rte_pktmbuf_append(out, size));
  if (bytes == nullptr) {
    return "no buffer for it";
  }
  constexpr std::ptrdiff_t kAddresses = 14;
  std::fill(bytes, bytes + kAddresses, 0);  // no real addresses
  std::fill(bytes + kAddresses, bytes + size, 0xa5);
  std::array<rte_mbuf*, 4> in{out};
  if ((*port)->transmit(std::span(in).first(1)) != 1) {
    return "not sent";
  }
  const auto until = std::chrono::steady_clock::now() + std::chrono::seconds(120);
  std::uint16_t got = 0;
  while (got == 0 && std::chrono::steady_clock::now() < until) {
    got = (*port)->receive(in);
  }
  if (got != 1) {
    return "not one frame has come back";
  }
  const bool right =
      in[0]->pkt_len == size && *rte_pktmbuf_mtod_offset(in[0], unsigned char*, size - 1) == 0xa5;
  rte_pktmbuf_free(in[0]);
  return right && (*port)->link_up() ? "" : "another frame has come back, or the link is not up";
}

}  // namespace

TEST_CASE("the XDP program is: r2 = context[16]; r1 = the map; r3 = XDP_PASS; redirect_map(); exit") {
  const auto program = xdp::linked({.code = xdp::bytecode::lead_queues, .maps = {0x01020304}});
  constexpr std::array<std::uint8_t, 48> kBytes{
      0x61, 0x12, 16, 0, 0,  0, 0, 0,  // BPF_LDX | BPF_MEM | BPF_W, r2 from r1
      0x18, 0x11, 0,  0, 4,  3, 2, 1,  // BPF_LD | BPF_DW | BPF_IMM, r1, BPF_PSEUDO_MAP_FD
      0,    0,    0,  0, 0,  0, 0, 0,  // its second half
      0xb7, 0x03, 0,  0, 2,  0, 0, 0,  // BPF_ALU64 | BPF_MOV | BPF_K, r3
      0x85, 0,    0,  0, 51, 0, 0, 0,  // BPF_JMP | BPF_CALL
      0x95, 0,    0,  0, 0,  0, 0, 0,  // BPF_JMP | BPF_EXIT
  };
  REQUIRE(program.size() * sizeof program[0] == kBytes.size());
  CHECK(std::memcmp(program.data(), kBytes.data(), kBytes.size()) == 0);
}

TEST_CASE("a port's arguments name the interface for AF_XDP") {
  CHECK(kernel_interface(af_xdp_arguments("eth1", 0, 4)) == "eth1");
  CHECK(kernel_interface(tap_arguments("eth1")).empty());
}

TEST_CASE("an AF_XDP port carries frames of its whole MTU, and leaves nothing on the interface") {
  need_eal();
  where_xdp_is([] {
    for (int round = 0; round < 2; ++round) {
      CHECK(given_back_by_loopback(18 + config::kMostAfXdpMtu) == "");
    }
  });
}

TEST_CASE("an interface with an XDP program is refused, and a missing interface is named") {
  need_eal();
  where_xdp_is([] {
    const auto first = xdp::Redirect::attach("lo", 1);
    CHECK(first.ok());
    const auto second = Port::open(loopback_port());
    CHECK_THAT(second ? "" : second.error().message,
               Contains("rail x: the interface lo has an XDP program of another owner"));
    const auto absent = xdp::Redirect::attach("no-such-if", 1);
    CHECK_THAT(absent ? "" : absent.error().message, Contains("no interface no-such-if"));
  });
}

}  // namespace tfabric::nic
