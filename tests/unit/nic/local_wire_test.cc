#include <fcntl.h>
#include <rte_mbuf.h>
#include <sys/mman.h>
#include <unistd.h>

#include <array>
#include <catch2/catch.hpp>
#include <cstring>

#include "tests/unit/nic/eal_fixture.h"
#include "transport/tcp/nic/pools.h"
#include "transport/tcp/nic/port.h"
#include "transport/tcp/nic/shared_wire.h"

using namespace tfabric;
using namespace tfabric::nic;

namespace {

constexpr std::uint16_t kMtu = 1500;

// Both ends of a wire, as ports of one process.
struct Ends {
  explicit Ends(std::uint16_t mtu = kMtu) {
    need_eal();
    auto made = SharedWire::make();
    INFO((made ? std::string() : made.error().message));
    REQUIRE(made.ok());
    auto joined = SharedWire::join(made->memory);
    INFO((joined ? std::string() : joined.error().message));
    REQUIRE(joined.ok());
    wires = {std::move(made->wire), std::move(*joined)};
    for (std::size_t i = 0; i < 2; ++i) {
      auto port =
          Port::open({.name = "shm", .device = {}, .pipes = {wires[i]}, .mtu = mtu, .rx_buffers = 512});
      INFO((port ? std::string() : port.error().message));
      REQUIRE(port.ok());
      ports[i] = std::move(*port);
    }
  }

  // A frame of two buffers.
  rte_mbuf* frame(std::uint16_t size, char fill) {
    rte_mbuf* const head = ports[0]->allocate_header();
    rte_mbuf* const tail = ports[0]->allocate_header();
    REQUIRE((head != nullptr && tail != nullptr));
    const auto first = static_cast<std::uint16_t>(size / 3);
    std::memset(rte_pktmbuf_append(head, first), fill, first);
    std::memset(rte_pktmbuf_append(tail, static_cast<std::uint16_t>(size - first)), fill, size - first);
    REQUIRE(rte_pktmbuf_chain(head, tail) == 0);
    return head;
  }
  bool send(std::size_t from, std::uint16_t size, char fill) {
    std::array packets{frame(size, fill)};
    if (ports[from]->transmit(packets) == 1) {
      return true;
    }
    rte_pktmbuf_free(packets[0]);
    return false;
  }
  // Returns the next frame's size, or 0; checks its bytes.
  std::uint32_t take(std::size_t at, char fill) {
    std::array<rte_mbuf*, 1> packets{};
    if (ports[at]->receive(packets) == 0) {
      return 0;
    }
    const std::uint32_t size = packets[0]->pkt_len;
    const char* const bytes = rte_pktmbuf_mtod(packets[0], const char*);
    CHECK(std::all_of(bytes, bytes + size, [&](char byte) { return byte == fill; }));
    rte_pktmbuf_free(packets[0]);
    return size;
  }

  std::array<std::shared_ptr<SharedWire>, 2> wires;
  std::array<std::unique_ptr<Port>, 2> ports;
};

std::string refusal_of(int descriptor) {
  const auto joined = SharedWire::join(Descriptor(descriptor));
  return joined ? "" : joined.error().message;
}

int memory_of(off_t size, int seals) {
  const int file = memfd_create("wire", MFD_CLOEXEC | MFD_ALLOW_SEALING);
  REQUIRE(ftruncate(file, size) == 0);
  REQUIRE(fcntl(file, F_ADD_SEALS, seals) == 0);
  return file;
}

constexpr int kAll = F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL;

}  // namespace

TEST_CASE("a wire through shared memory carries frames of several buffers both ways, whole and in order") {
  Ends ends;
  for (int round = 0; round < 5000; ++round) {
    const auto fill = static_cast<char>('a' + round % 26);
    const auto size = static_cast<std::uint16_t>(60 + round % 1450);
    for (std::size_t from = 0; from < 2; ++from) {
      REQUIRE(ends.send(from, size, fill));
      REQUIRE(ends.take(1 - from, fill) == size);
      REQUIRE(ends.take(from, fill) == 0);
    }
  }
  CHECK((ends.ports[0]->link_up() && ends.ports[1]->link_up()));
}

TEST_CASE("a wire through shared memory that is full takes no more, and loses nothing") {
  Ends ends;
  std::size_t sent = 0;
  while (ends.send(0, 1400, 'f')) {
    ++sent;
  }
  CHECK(sent > 500);
  std::size_t taken = 0;
  while (ends.take(1, 'f') == 1400) {
    ++taken;
  }
  CHECK(taken == sent);
  CHECK(ends.send(0, 1400, 'g'));
}

TEST_CASE("the largest frames pass a wire through shared memory") {
  constexpr std::uint16_t kMost = kSharedWireMtu;
  Ends ends(kMost);
  rte_mbuf* const head = ends.frame(1500, 'm');
  while (head->pkt_len < kMost + 14u) {
    rte_mbuf* const more = ends.ports[0]->allocate_header();
    REQUIRE(more != nullptr);
    const auto size = static_cast<std::uint16_t>(std::min(1500u, kMost + 14u - head->pkt_len));
    std::memset(rte_pktmbuf_append(more, size), 'm', size);
    REQUIRE(rte_pktmbuf_chain(head, more) == 0);
  }
  std::array packets{head};
  REQUIRE(ends.ports[0]->transmit(packets) == 1);
  CHECK(ends.take(1, 'm') == kMost + 14u);
}

TEST_CASE("what was sent before the other process ended is taken before the link is down") {
  Ends ends;
  for (int i = 0; i < 3; ++i) {
    REQUIRE(ends.send(0, 500, 'e'));
  }
  ends.ports[0].reset();
  ends.wires[0].reset();
  ends.wires[1]->end();
  for (int i = 0; i < 3; ++i) {
    CHECK(ends.ports[1]->link_up());
    CHECK(ends.take(1, 'e') == 500);
  }
  CHECK_FALSE(ends.ports[1]->link_up());
}

TEST_CASE("shared memory that could shrink under its user, or has another layout, is refused") {
  const auto good = static_cast<off_t>(kSharedWireBytes);
  CHECK(refusal_of(memory_of(good, kAll)).empty());
  for (const int seals : {0, F_SEAL_GROW, F_SEAL_SHRINK | F_SEAL_GROW, F_SEAL_SHRINK | F_SEAL_SEAL}) {
    CHECK_THAT(refusal_of(memory_of(good, seals)), Catch::Contains("not sealed"));
  }
  for (const off_t size : {off_t{0}, off_t{4096}, good - 1, good + 1, good - 4096, off_t{1} << 40}) {
    CHECK_THAT(refusal_of(memory_of(size, kAll)), Catch::Contains("bytes, which is no size of it"));
  }
  CHECK_THAT(refusal_of(open("/dev/null", O_RDWR | O_CLOEXEC)), Catch::Contains("not sealed"));
  CHECK_THAT(refusal_of(-1), Catch::Contains("not sealed"));
  auto made = SharedWire::make();
  REQUIRE(made.ok());
  CHECK(ftruncate(made->memory.get(), 0) != 0);
}
