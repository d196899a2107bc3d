#include "transport/tcp/nic/packet_batch.h"

#include <fcntl.h>
#include <rte_mbuf.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <catch2/catch.hpp>
#include <cstring>
#include <random>
#include <string>
#include <vector>

#include "base/descriptor.h"
#include "tests/unit/nic/eal_fixture.h"
#include "transport/tcp/nic/growing_pool.h"
#include "transport/tcp/nic/poll_pace.h"
#include "transport/tcp/nic/pools.h"

namespace tfabric::nic {
namespace {

using Contents = std::vector<char>;

// A sender and a receiver, joined by datagrams of any size in place of a network.
struct Datagrams {
  explicit Datagrams(PacketReceiver::Options options = {.virtio_headers = true, .most_bytes = 65553},
                     std::uint32_t buffers = 512)
      : sender(options.virtio_headers), receiver(std::make_unique<PacketReceiver>(options)) {
    need_eal();
    std::array<int, 2> ends{-1, -1};
    REQUIRE(socketpair(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0, ends.data()) == 0);
    out = std::make_unique<Descriptor>(ends[0]);
    in = std::make_unique<Descriptor>(ends[1]);
    auto made = make_receive_pool("batch", buffers, 1500, -1);
    REQUIRE(made.ok());
    pool = std::move(*made);
    auto source = make_receive_pool("source", 512, 1500, -1);
    REQUIRE(source.ok());
    from = std::move(*source);
  }

  // A packet of buffers of at most `each` bytes.
  rte_mbuf* packet(const Contents& bytes, std::size_t each) {
    rte_mbuf* whole = nullptr;
    for (std::size_t done = 0; done < bytes.size();) {
      rte_mbuf* const piece = rte_pktmbuf_alloc(from.get());
      REQUIRE(piece != nullptr);
      const auto size = static_cast<std::uint16_t>(std::min(each, bytes.size() - done));
      std::memcpy(rte_pktmbuf_append(piece, size), &bytes[done], size);
      done += size;
      if (whole == nullptr) {
        whole = piece;
      } else {
        REQUIRE(rte_pktmbuf_chain(whole, piece) == 0);
      }
    }
    return whole;
  }
  bool send(rte_mbuf* packet) {
    std::array packets{packet};
    if (sender.send(out->get(), packets) == 1) {
      return true;
    }
    rte_pktmbuf_free(packet);
    return false;
  }
  std::vector<rte_mbuf*> take() {
    std::vector<rte_mbuf*> packets(64);
    packets.resize(receiver->receive(in->get(), packets, *pool));
    return packets;
  }

  std::unique_ptr<Descriptor> out, in;
  std::shared_ptr<rte_mempool> pool, from;
  PacketSender sender;
  std::unique_ptr<PacketReceiver> receiver;
};

Contents contents(const rte_mbuf* packet) {
  Contents bytes;
  for (const rte_mbuf* piece = packet; piece != nullptr; piece = piece->next) {
    const char* const at = rte_pktmbuf_mtod(piece, const char*);
    bytes.insert(bytes.end(), at, at + piece->data_len);
  }
  return bytes;
}

Contents random_contents(std::mt19937_64& random, std::size_t size) {
  Contents bytes(size);
  for (char& byte : bytes) {
    byte = static_cast<char>(random());
  }
  return bytes;
}

}  // namespace

TEST_CASE(
    "the longer nothing has come, the more rarely it is asked for, and what comes is late by a small part of "
    "that") {
  PollPace pace(4000);
  std::uint64_t now = 1'000'000;
  pace.on_answer(true, now);
  CHECK(pace.due(now));
  std::uint64_t asked = 0, last = now;
  for (const std::uint64_t end = now + 1'000'000; now < end; now += 10) {
    if (pace.due(now)) {
      CHECK(now - last <= std::max<std::uint64_t>((now - 1'000'000) / 32 + 10, 10));
      CHECK(now - last <= 4010);
      pace.on_answer(false, now);
      last = now;
      ++asked;
    }
  }
  CHECK(asked < 500);  // of 100,000 occasions
  pace.on_answer(true, now);
  CHECK(pace.due(now + 1));
}

TEST_CASE("packets of any size, in any number of buffers, arrive whole and in order") {
  const auto seed = std::random_device()();
  INFO("seed " << seed);
  std::mt19937_64 random(seed);
  for (const bool headers : {false, true}) {
    Datagrams pair({.virtio_headers = headers, .most_bytes = 65553});
    for (int round = 0; round < 200; ++round) {
      std::vector<Contents> sent;
      for (std::size_t i = 1 + random() % 3; i > 0; --i) {
        const std::size_t most = random() % 4 == 0 ? 65549 : 3000;
        sent.push_back(random_contents(random, 1 + random() % most));
        REQUIRE(pair.send(pair.packet(sent.back(), 600 + random() % 1400)));
      }
      std::vector<Contents> found;
      while (found.size() < sent.size()) {
        const std::vector<rte_mbuf*> packets = pair.take();
        REQUIRE_FALSE(packets.empty());
        for (rte_mbuf* packet : packets) {
          CHECK(rte_mbuf_check(packet, 1, nullptr) == 0);
          CHECK(packet->pkt_len == contents(packet).size());
          found.push_back(contents(packet));
          rte_pktmbuf_free(packet);
        }
      }
      REQUIRE(found == sent);
    }
    // Nothing is kept but what waits to be filled, and that goes with the receiver.
    pair.receiver.reset();
    CHECK(in_use(pair.pool.get()) == 0);
    CHECK(in_use(pair.from.get()) == 0);
  }
}

TEST_CASE("what is left to do for a packet goes before it") {
  Datagrams pair;
  rte_mbuf* const plain = pair.packet(Contents(100), 100);
  rte_mbuf* const summed = pair.packet(Contents(100), 100);
  summed->ol_flags = RTE_MBUF_F_TX_TCP_CKSUM | RTE_MBUF_F_TX_IPV6;
  summed->l2_len = 14;
  summed->l3_len = 40;
  summed->l4_len = 32;
  rte_mbuf* const cut = pair.packet(Contents(5000), 1000);
  cut->ol_flags = RTE_MBUF_F_TX_TCP_CKSUM | RTE_MBUF_F_TX_TCP_SEG | RTE_MBUF_F_TX_IPV4;
  cut->l2_len = 18;
  cut->l3_len = 20;
  cut->l4_len = 20;
  cut->tso_segsz = 1448;
  REQUIRE((pair.send(plain) && pair.send(summed) && pair.send(cut)));
  const auto next = [&pair] {
    std::array<char, 6000> bytes{};
    REQUIRE(recv(pair.in->get(), bytes.data(), bytes.size(), MSG_DONTWAIT) > 0);
    VirtioHeader header;
    std::memcpy(&header, bytes.data(), sizeof header);
    return header;
  };
  CHECK(next().flags == 0);
  const VirtioHeader of_summed = next();
  CHECK(of_summed.flags == VirtioHeader::kNeedsChecksum);
  CHECK(of_summed.checksum_from == 54);
  CHECK(of_summed.checksum_at == 16);
  CHECK(of_summed.segmentation == 0);
  const VirtioHeader of_cut = next();
  CHECK(of_cut.segmentation == VirtioHeader::kTcpV4);
  CHECK(of_cut.segment_bytes == 1448);
  CHECK(of_cut.header_bytes == 58);
  CHECK(of_cut.checksum_from == 38);
}

TEST_CASE("what is known of a packet's checksum comes before it") {
  Datagrams pair;
  for (const std::uint8_t flags : {0, 1, 2, 3, 4}) {
    Contents bytes(sizeof(VirtioHeader) + 60);
    bytes[0] = static_cast<char>(flags);
    REQUIRE(send(pair.out->get(), bytes.data(), bytes.size(), 0) == static_cast<ssize_t>(bytes.size()));
    const std::vector<rte_mbuf*> packets = pair.take();
    REQUIRE(packets.size() == 1);
    CHECK(packets[0]->pkt_len == 60);
    CHECK(((packets[0]->ol_flags & RTE_MBUF_F_RX_L4_CKSUM_GOOD) != 0) == ((flags & 3) != 0));
    rte_pktmbuf_free(packets[0]);
  }
}

TEST_CASE("what the socket has no room for stays the caller's, and what it refuses does not") {
  Datagrams pair;
  std::vector<rte_mbuf*> packets;
  for (int i = 0; i < 200; ++i) {
    packets.push_back(pair.packet(Contents(1000), 1000));
  }
  const std::uint16_t sent = pair.sender.send(pair.out->get(), packets);
  CHECK(sent > 0);
  REQUIRE(sent < packets.size());
  rte_pktmbuf_free_bulk(&packets[sent], static_cast<unsigned>(packets.size() - sent));
  std::size_t found = 0;
  for (std::vector<rte_mbuf*> some = pair.take(); !some.empty(); some = pair.take()) {
    found += some.size();
    rte_pktmbuf_free_bulk(some.data(), static_cast<unsigned>(some.size()));
  }
  CHECK(found == sent);

  constexpr int kSmall = 4608;
  REQUIRE(setsockopt(pair.out->get(), SOL_SOCKET, SO_SNDBUF, &kSmall, sizeof kSmall) == 0);
  std::array mixed{pair.packet(Contents(30000), 1000), pair.packet(Contents(100), 100)};
  CHECK(pair.sender.send(pair.out->get(), mixed) == 2);
  const std::vector<rte_mbuf*> rest = pair.take();
  REQUIRE(rest.size() == 1);
  CHECK(rest[0]->pkt_len == 100);
  rte_pktmbuf_free(rest[0]);
}

TEST_CASE("a packet that is too large, or none at all, is dropped; the next one is not") {
  Datagrams pair({.virtio_headers = true, .most_bytes = 1518});
  REQUIRE(pair.send(pair.packet(Contents(9000), 1000)));
  REQUIRE(send(pair.out->get(), "short", 5, 0) == 5);
  REQUIRE(pair.send(pair.packet(Contents(1518, 'x'), 1000)));
  const std::vector<rte_mbuf*> packets = pair.take();
  REQUIRE(packets.size() == 1);
  CHECK(contents(packets[0]) == Contents(1518, 'x'));
  rte_pktmbuf_free(packets[0]);
}

TEST_CASE("without a free buffer packets wait in the socket") {
  Datagrams pair({.virtio_headers = true, .most_bytes = 1518}, 64);
  std::vector<rte_mbuf*> all;
  while (rte_mbuf* const buffer = rte_pktmbuf_alloc(pair.pool.get())) {
    all.push_back(buffer);
  }
  REQUIRE(pair.send(pair.packet(Contents(100, 'x'), 100)));
  CHECK(pair.take().empty());
  rte_pktmbuf_free_bulk(all.data(), static_cast<unsigned>(all.size()));
  const std::vector<rte_mbuf*> packets = pair.take();
  REQUIRE(packets.size() == 1);
  CHECK(contents(packets[0]) == Contents(100, 'x'));
  rte_pktmbuf_free(packets[0]);
}

}  // namespace tfabric::nic
