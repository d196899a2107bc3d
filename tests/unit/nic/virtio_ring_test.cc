// virtio's driver with rings of the sizes that hosts choose, joined to a vhost-user end of the same process.
#include <fmt/format.h>
#include <rte_mbuf.h>
#include <rte_mempool.h>

#include <array>
#include <catch2/catch.hpp>
#include <string>
#include <thread>

#include "tests/temporary_folder.h"
#include "tests/unit/nic/eal_fixture.h"
#include "transport/tcp/nic/growing_pool.h"
#include "transport/tcp/nic/port.h"

using namespace tfabric;
using namespace tfabric::nic;
using namespace std::chrono_literals;

namespace {

// DPDK keeps devices by name, and a name is not used twice in a process.
std::unique_ptr<Port> open(const char* name, const std::string& device) {
  auto port = Port::open({.name = name, .device = device, .mtu = 1500, .rx_buffers = 2048});
  INFO((port ? std::string() : port.error().message));
  REQUIRE(port.ok());
  return std::move(*port);
}

// Both drivers find out on threads of their own, at most some milliseconds after they were opened.
bool comes_up(const Port& port) {
  const Instant deadline = monotonic_now() + 60s;
  while (!port.link_up() && monotonic_now() < deadline) {
    std::this_thread::sleep_for(1ms);
  }
  return port.link_up();
}

// Sends a frame, and waits until the other end has it. Returns the pool of its buffer.
rte_mempool* pass_frame(Port& from, Port& to) {
  std::array<rte_mbuf*, 1> packet{from.allocate_header()};
  REQUIRE(packet[0] != nullptr);
  rte_mempool* pool = packet[0]->pool;
  REQUIRE(rte_pktmbuf_append(packet[0], 60) != nullptr);
  const Instant deadline = monotonic_now() + 60s;
  while (from.transmit(packet) == 0) {
    REQUIRE(monotonic_now() < deadline);
  }
  std::array<rte_mbuf*, 1> arrived{};
  while (to.receive(arrived) == 0) {
    REQUIRE(monotonic_now() < deadline);
  }
  CHECK(rte_pktmbuf_data_len(arrived[0]) == 60);
  rte_pktmbuf_free(arrived[0]);
  return pool;
}

}  // namespace

TEST_CASE("a virtio ring of any size is opened, and what it has sent is freed at each burst", "[native]") {
  need_eal();
  const unsigned size = GENERATE(64u, 128u, 256u, 512u, 1024u, 4096u);
  INFO("a ring of " << size << " entries");
  const test::TemporaryFolder folder;
  const std::string socket = folder.path("wire");
  const auto host = open("host", fmt::format("net_vhost{},iface={},queues=1", 70'000 + size, socket));
  const auto guest = open(
      "guest", fmt::format("net_virtio_user{},path={},queues=1,queue_size={}", 70'000 + size, socket, size));
  REQUIRE(comes_up(*host));
  REQUIRE(comes_up(*guest));
  // More frames than the ring has entries, so that each entry is used again.
  rte_mempool* pool = nullptr;
  for (unsigned i = 0; i < size + 100; ++i) {
    pool = pass_frame(*guest, *host);
  }
  // Eight that the ring may keep, and one that was sent since it was looked at last.
  CHECK(in_use(pool) <= 16);
  pass_frame(*host, *guest);
}
