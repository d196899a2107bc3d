#include "transport/tcp/nic/port.h"

#include <net/if.h>
#include <pthread.h>
#include <rte_mbuf.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <csignal>
#include <cstring>
#include <future>
#include <thread>

#include "base/descriptor.h"
#include "base/unix_socket.h"
#include "host/interfaces.h"
#include "tests/temporary_folder.h"
#include "tests/unit/nic/eal_fixture.h"
#include "tests/unit/nic/own_namespace.h"
#include "transport/tcp/nic/control_thread.h"
#include "transport/tcp/nic/device_arguments.h"
#include "transport/tcp/nic/growing_pool.h"
#include "transport/tcp/nic/offloads.h"
#include "transport/tcp/nic/pools.h"

namespace tfabric::nic {
namespace {

// A ring device gives back what it is given.
std::unique_ptr<Port> open_ring(const char* device) {
  auto port = Port::open({.name = "ring", .device = device, .mtu = 1500, .rx_buffers = 256});
  INFO((port ? std::string() : port.error().message));
  REQUIRE(port.ok());
  return std::move(*port);
}

std::string message_of(const Result<std::unique_ptr<Port>>& result) {
  return result ? "" : result.error().message;
}

}  // namespace

TEST_CASE("EAL leaves the caller's affinity, signals and the runtime folder as they were") {
  cpu_set_t before, after;
  sigset_t mask_before{}, mask_after{};  // glibc fills only what the kernel knows
  sched_getaffinity(0, sizeof before, &before);
  pthread_sigmask(SIG_SETMASK, nullptr, &mask_before);
  need_eal();
  sched_getaffinity(0, sizeof after, &after);
  pthread_sigmask(SIG_SETMASK, nullptr, &mask_after);
  CHECK(CPU_EQUAL(&before, &after));
  CHECK(std::memcmp(&mask_before, &mask_after, sizeof mask_before) == 0);
  for (const char* root : {"/var/run/dpdk", "/tmp/dpdk"}) {
    std::error_code none;
    for (const auto& entry : std::filesystem::directory_iterator(root, none)) {
      CHECK(entry.path().filename().string().rfind("tfabric-" + std::to_string(getpid()) + "-", 0) != 0);
    }
  }
}

TEST_CASE("EAL starts once; a second start that asks for another NIC is refused by name") {
  need_eal();
  CHECK(eal_started());
  CHECK(start_eal({.memory_mib = 64}).ok());
  const Status other = start_eal({.pci_allow = {"0000:00:1f.7"}});
  REQUIRE_FALSE(other.ok());
  CHECK(other.error().message.find("0000:00:1f.7") != std::string::npos);
}

TEST_CASE("a port carries frames, whole and in order") {
  need_eal();
  auto port = open_ring("net_ring_t0");
  constexpr std::uint16_t kFrames = 40;
  std::array<rte_mbuf*, kFrames> out{};
  for (std::uint16_t i = 0; i < kFrames; ++i) {
    out[i] = port->allocate_header();
    REQUIRE(out[i] != nullptr);
    std::memset(rte_pktmbuf_append(out[i], static_cast<std::uint16_t>(60 + i)), i, 60u + i);
  }
  REQUIRE(port->transmit(out) == kFrames);
  std::array<rte_mbuf*, 64> in{};
  std::uint16_t got = 0;
  while (got < kFrames) {
    const std::uint16_t n = port->receive(std::span(in).subspan(got));
    REQUIRE(n > 0);
    got = static_cast<std::uint16_t>(got + n);
  }
  REQUIRE(got == kFrames);
  for (std::uint16_t i = 0; i < kFrames; ++i) {
    CHECK(in[i]->pkt_len == 60u + i);
    CHECK(*rte_pktmbuf_mtod(in[i], unsigned char*) == i);
    rte_pktmbuf_free(in[i]);
  }
  CHECK(port->receive(in) == 0);
}

TEST_CASE("loops are no devices of DPDK: a process can have any number beside its 32 devices") {
  need_eal();
  std::vector<std::unique_ptr<Port>> ports;
  ports.push_back(open_ring("net_ring_limit0"));
  const auto open = [&](const std::string& device) {
    return Port::open({.name = "rail", .device = device, .mtu = 1500, .rx_pool = ports.front()->rx_pool()});
  };
  for (int i = 0; i < 40; ++i) {
    auto loop = open(kLoopDevice);
    REQUIRE(loop.ok());
    ports.push_back(std::move(*loop));
  }
  for (int i = 1; i < kMostDevices; ++i) {
    auto device = open("net_ring_limit" + std::to_string(i));
    INFO((device ? "" : device.error().message));
    REQUIRE(device.ok());
    ports.push_back(std::move(*device));
  }
  const std::string refused = message_of(open("net_ring_limit_more"));
  CHECK(refused.find("rail rail: cannot open net_ring_limit_more: this process has 32 devices open") == 0);
  CHECK(refused.find("tcp.rails_per_process") != std::string::npos);
}

TEST_CASE("a loop gives back what it is given, whole and in order, and frees what is not taken") {
  need_eal();
  auto loop = open_ring(kLoopDevice);
  CHECK(loop->link_up());
  CHECK(loop->mac().bytes == net::MacAddress{}.bytes);
  rte_mempool* pool = *header_pool();
  const unsigned before = in_use(pool);
  std::array<rte_mbuf*, 64> burst{};
  std::size_t given = 0, taken = 0;
  // More than the loop holds: what it does not take stays ours.
  for (bool full = false; !full;) {
    for (std::size_t i = 0; i < burst.size(); ++i) {
      burst[i] = loop->allocate_header();
      REQUIRE(burst[i] != nullptr);
      rte_pktmbuf_append(burst[i], 64);
      burst[i]->hash.rss = static_cast<std::uint32_t>(given + i);
    }
    const std::uint16_t sent = loop->transmit(burst);
    full = sent < burst.size();
    rte_pktmbuf_free_bulk(burst.data() + sent, static_cast<unsigned>(burst.size() - sent));
    given += sent;
    REQUIRE(given <= 4096);
  }
  for (int round = 0; round < 3; ++round) {
    const std::uint16_t got = loop->receive(burst);
    REQUIRE(got == burst.size());
    for (rte_mbuf* packet : burst) {
      CHECK(packet->hash.rss == taken++);
    }
    CHECK(loop->transmit(burst) == burst.size());  // there is room again
  }
  loop.reset();
  CHECK(in_use(pool) == before);
}

TEST_CASE("a TAP with more queues than DPDK's driver stands is refused") {
  need_eal();
  const auto opened = Port::open_queues({.name = "tap0", .device = tap_arguments("tap0"), .rx_buffers = 256},
                                        kMostTapQueues + 1);
  REQUIRE_FALSE(opened.ok());
  CHECK(opened.error().code == Errc::unusable);
  CHECK(opened.error().message.find("rail tap0: a TAP has at most 4 queues") == 0);
}

TEST_CASE("a device that cannot be opened is named, with its rail") {
  need_eal();
  const std::string absent =
      message_of(Port::open({.name = "eth-a", .device = "net_af_xdp_x,iface=no-such-if"}));
  CHECK(absent.find("eth-a") != std::string::npos);
  CHECK(absent.find("no-such-if") != std::string::npos);
  const std::string unknown = message_of(Port::open({.name = "eth-b", .device = "net_nonsense0"}));
  CHECK(unknown.find("eth-b") != std::string::npos);
  CHECK(unknown.find("net_nonsense0") != std::string::npos);
}

TEST_CASE("the same device can be opened again after it was closed") {
  need_eal();
  for (int i = 0; i < 20; ++i) {
    open_ring("net_ring_t1");
  }
}

TEST_CASE(
    "a receive pool that is not in use any more is the next one of its shape, if every packet is back") {
  need_eal();
  const auto make = [](std::uint32_t count, std::uint32_t mtu = 1500) {
    auto pool = make_receive_pool("kept", count, mtu, SOCKET_ID_ANY);
    REQUIRE(pool.ok());
    return std::move(*pool);
  };
  auto pool = make(300);
  const rte_mempool* const first = pool.get();
  rte_pktmbuf_free(rte_pktmbuf_alloc(pool.get()));
  pool.reset();
  pool = make(300);
  CHECK(pool.get() == first);
  CHECK(in_use(pool.get()) == 0);

  pool.reset();
  auto larger = make(301);
  CHECK(larger->size == 301);
  auto of_jumbo_frames = make(300, 9000);
  CHECK(rte_pktmbuf_data_room_size(of_jumbo_frames.get()) > 9000);
  auto of_pages = make_page_pool("kept", 300, SOCKET_ID_ANY);
  REQUIRE(of_pages.ok());
  const std::array<const rte_mempool*, 3> kept{larger.get(), of_jumbo_frames.get(), of_pages->get()};
  larger.reset();
  of_jumbo_frames.reset();
  of_pages->reset();
  of_pages = make_page_pool("kept", 300, SOCKET_ID_ANY);
  of_jumbo_frames = make(300, 9000);
  larger = make(301);
  CHECK(kept == std::array<const rte_mempool*, 3>{larger.get(), of_jumbo_frames.get(), of_pages->get()});

  REQUIRE(rte_pktmbuf_alloc(larger.get()) != nullptr);
  const std::string name = larger->name;
  larger.reset();
  CHECK(rte_mempool_lookup(name.c_str()) == nullptr);
}

TEST_CASE("two header buffers lie on a page") {
  need_eal();
  CHECK(rte_mempool_calc_obj_size((*header_pool())->elt_size, 0, nullptr) <= 2048);
}

TEST_CASE("ports that share a pool leave it to the last of them") {
  need_eal();
  auto first = open_ring("net_ring_t2");
  auto second =
      Port::open({.name = "second", .device = "net_ring_t3", .mtu = 1500, .rx_pool = first->rx_pool()});
  REQUIRE(second.ok());
  const std::string name = first->rx_pool()->name;
  first.reset();
  rte_mbuf* packet = rte_pktmbuf_alloc((*second)->rx_pool().get());
  REQUIRE(packet != nullptr);
  REQUIRE(rte_mempool_lookup(name.c_str()) == (*second)->rx_pool().get());
  REQUIRE((*second)->transmit({&packet, 1}) == 1);
  rte_mbuf* back = nullptr;
  REQUIRE((*second)->receive({&back, 1}) == 1);
  CHECK(back == packet);
  rte_pktmbuf_free(back);
}

TEST_CASE("a chain of buffers becomes one of the same bytes; one that does not fit is refused") {
  need_eal();
  rte_mempool* pool = *header_pool();
  rte_mbuf* head = rte_pktmbuf_alloc(pool);
  std::memset(rte_pktmbuf_append(head, 100), 'a', 100);
  rte_mbuf* tail = rte_pktmbuf_alloc(pool);
  std::memset(rte_pktmbuf_append(tail, 900), 'b', 900);
  REQUIRE(rte_pktmbuf_chain(head, tail) == 0);
  rte_mbuf* copy = linearised_copy(*head, pool);
  REQUIRE(copy != nullptr);
  CHECK(copy->nb_segs == 1);
  REQUIRE(copy->pkt_len == 1000);
  const auto* bytes = rte_pktmbuf_mtod(copy, const char*);
  CHECK(std::string(bytes, 1000) == std::string(100, 'a') + std::string(900, 'b'));
  rte_pktmbuf_free(copy);
  for (int i = 0; i < 2; ++i) {
    rte_mbuf* more = rte_pktmbuf_alloc(pool);
    rte_pktmbuf_append(more, 1500);
    REQUIRE(rte_pktmbuf_chain(head, more) == 0);
  }
  CHECK(linearised_copy(*head, pool) == nullptr);
  rte_pktmbuf_free(head);
}

TEST_CASE("the MTU of a kernel interface is read in the thread's network namespace") {
  CHECK(host::InterfaceQuery().mtu("no-such-if") == 0);
  CHECK(host::InterfaceQuery().mtu("a-name-that-no-interface-can-have") == 0);
  in_own_namespace([] {
    const Descriptor any(socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0));
    ifreq lo{};
    std::strcpy(lo.ifr_name, "lo");
    lo.ifr_mtu = 1234;
    CHECK(ioctl(any.get(), SIOCSIFMTU, &lo) == 0);
    CHECK(host::InterfaceQuery().mtu("lo") == 1234);
  });
}

TEST_CASE("run_on_control_thread() returns when the work is done, also on that thread itself") {
  need_eal();
  std::thread::id outer, inner;
  run_on_control_thread([&] {
    outer = std::this_thread::get_id();
    run_on_control_thread([&] { inner = std::this_thread::get_id(); });
  });
  CHECK(outer != std::this_thread::get_id());
  CHECK(inner == outer);
}

// Without wire_sockets.cc, DPDK's interrupt thread would end the process.
TEST_CASE("a memif client that leaves before the server could greet it does no harm") {
  need_eal();
  const test::TemporaryFolder folder;
  const std::string path = folder.path("wire.sock");
  const auto server =
      Port::open({.name = "memif", .device = memif_arguments({.socket = path, .server = true})});
  INFO((server ? std::string() : server.error().message));
  REQUIRE(server.ok());
  const auto connected = [&path] {
    Descriptor client(socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0));
    const sockaddr_un address = unix_address(path);
    REQUIRE(connect(client.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0);
    return client;
  };
  for (int i = 0; i < 10; ++i) {
    // Keeps the thread that greets busy until the client is gone.
    std::promise<void> gone;
    std::thread busy([&gone] { run_on_control_thread([&gone] { gone.get_future().wait(); }); });
    { const Descriptor client = connected(); }
    gone.set_value();
    busy.join();
    // A client that is greeted was accepted, like all before it. If they were not, a third would block in
    // connect().
    const Descriptor client = connected();
    std::array<std::byte, 256> greeting;
    CHECK(recv(client.get(), greeting.data(), greeting.size(), 0) > 0);
  }
}

}  // namespace tfabric::nic
