#include "transport/tcp/nic/growing_pool.h"

#include <rte_mbuf.h>
#include <sys/mman.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <catch2/catch.hpp>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "tests/unit/nic/eal_fixture.h"
#include "transport/tcp/nic/pools.h"

namespace tfabric::nic {
namespace {

std::string ops_of(const rte_mempool& pool) { return rte_mempool_get_ops(pool.ops_index)->name; }

std::shared_ptr<rte_mempool> make_pool(std::uint32_t count, unsigned cache, std::uint16_t room) {
  static std::atomic<int> number{0};
  rte_mempool* pool =
      create_growing_pool("grows" + std::to_string(number++), count, cache, room, SOCKET_ID_ANY);
  REQUIRE(pool != nullptr);
  return {pool, rte_mempool_free};
}

// Takes so many buffers, writes all of each, and looks at what DPDK says of them.
std::vector<rte_mbuf*> take(rte_mempool* pool, std::size_t count) {
  std::vector<rte_mbuf*> packets;
  while (packets.size() < count) {
    rte_mbuf* packet = rte_pktmbuf_alloc(pool);
    REQUIRE(packet != nullptr);
    const char* why = nullptr;
    REQUIRE(rte_mbuf_check(packet, 1, &why) == 0);
    REQUIRE(packet->buf_iova == reinterpret_cast<rte_iova_t>(packet->buf_addr));
    std::fill_n(rte_pktmbuf_append(packet, rte_pktmbuf_tailroom(packet)), packet->pkt_len, 'x');
    packets.push_back(packet);
  }
  REQUIRE(std::set(packets.begin(), packets.end()).size() == packets.size());
  return packets;
}

TEST_CASE("a pool makes buffers when all that it made are in use, up to its size, and keeps them") {
  need_eal();
  const auto room = static_cast<std::uint16_t>(GENERATE(0, 1664, 2176, 9000, 65000));
  const unsigned count = GENERATE(1u, 64u, 1000u);
  INFO(count << " buffers of " << room << " bytes");
  const auto pool = make_pool(count, 0, room);
  CHECK(pool->populated_size < 300);
  CHECK(in_use(pool.get()) == 0);
  std::vector<rte_mbuf*> packets = take(pool.get(), 1);
  CHECK(pool->populated_size < 300);
  for (int round = 0; round < 3; ++round) {
    const std::vector<rte_mbuf*> more = take(pool.get(), count - packets.size());
    packets.insert(packets.end(), more.begin(), more.end());
    CHECK(rte_pktmbuf_alloc(pool.get()) == nullptr);
    CHECK(in_use(pool.get()) == count);
    CHECK(pool->populated_size == count);
    rte_pktmbuf_free_bulk(packets.data(), static_cast<unsigned>(packets.size()));
    packets.clear();
    CHECK(in_use(pool.get()) == 0);
  }
}

TEST_CASE("a request for more than there are takes what there is, or nothing") {
  need_eal();
  const auto pool = make_pool(1000, 0, 2176);
  std::array<rte_mbuf*, 900> many{};
  CHECK(rte_pktmbuf_alloc_bulk(pool.get(), many.data(), 900) == 0);
  std::array<rte_mbuf*, 200> more{};
  CHECK(rte_pktmbuf_alloc_bulk(pool.get(), more.data(), 101) != 0);
  CHECK(in_use(pool.get()) == 900);
  CHECK(rte_pktmbuf_alloc_bulk(pool.get(), more.data(), 100) == 0);
  rte_pktmbuf_free_bulk(many.data(), 900);
  rte_pktmbuf_free_bulk(more.data(), 100);
  CHECK(in_use(pool.get()) == 0);
}

TEST_CASE("threads that need buffers at the same time get all that there are, each once") {
  need_eal();
  for (int round = 0; round < 20; ++round) {
    constexpr unsigned kThreads = 4, kEach = 500;
    const auto pool = make_pool(kThreads * kEach, 0, 2176);
    std::array<std::vector<rte_mbuf*>, kThreads> taken;
    std::vector<std::thread> threads;
    for (auto& own : taken) {
      threads.emplace_back([&own, &pool] {
        while (own.size() < kEach) {
          rte_mbuf* packet = rte_pktmbuf_alloc(pool.get());
          if (packet == nullptr) break;
          packet->hash.rss = static_cast<std::uint32_t>(own.size());
          own.push_back(packet);
        }
      });
    }
    for (std::thread& thread : threads) thread.join();
    std::set<rte_mbuf*> all;
    for (const auto& own : taken) {
      REQUIRE(own.size() == kEach);
      for (std::size_t i = 0; i < own.size(); ++i) REQUIRE(own[i]->hash.rss == i);
      all.insert(own.begin(), own.end());
    }
    CHECK(all.size() == kThreads * kEach);
    for (rte_mbuf* packet : all) rte_pktmbuf_free(packet);
    CHECK(in_use(pool.get()) == 0);
  }
}

TEST_CASE("a pool may lie in several pieces of memory, and all of them are given back") {
  need_eal();
  // Leaves no piece that is large enough for a whole pool.
  std::vector<std::shared_ptr<rte_mempool>> pools;
  constexpr unsigned kSmall = 8, kRoom = 65000;
  for (int i = 0;; ++i) {
    rte_mempool* pool = create_growing_pool("fills" + std::to_string(i), kSmall, 0, kRoom, SOCKET_ID_ANY);
    if (pool == nullptr) break;
    pools.emplace_back(pool, rte_mempool_free);
  }
  REQUIRE(pools.size() > 10);
  for (std::size_t i = 0; i < pools.size(); i += 2) pools[i].reset();
  for (int round = 0; round < 2; ++round) {
    const auto large = make_pool(kSmall * 4, 0, kRoom);
    std::vector<rte_mbuf*> packets = take(large.get(), kSmall * 4);
    CHECK(large->nb_mem_chunks > 1);
    rte_pktmbuf_free_bulk(packets.data(), kSmall * 4);
  }
}

TEST_CASE("without hugepages, the pools of ports grow, and those of AF_XDP are there at once") {
  need_eal();
  const auto pool = make_receive_pool("given", 3002, 1500, SOCKET_ID_ANY);
  REQUIRE(pool.ok());
  CHECK(ops_of(**pool) == growing_ops());
  CHECK((*pool)->size == 3002);
  CHECK((*pool)->populated_size < 300);
  CHECK(ops_of(**header_pool()) == growing_ops());
  const auto pages = make_page_pool("umem", 3002, SOCKET_ID_ANY);
  REQUIRE(pages.ok());
  CHECK(ops_of(**pages) == growing_ops());
  CHECK((*pages)->populated_size == 3002);
}

TEST_CASE("the kernel is asked for the pages that making a pool touches, and for no others") {
  need_eal();
  constexpr std::size_t kPages = 1024;
  constexpr std::size_t kBytes = kPages * 4096;
  const auto resident_of = [&](unsigned object_bytes) {
    void* memory = mmap(nullptr, kBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    REQUIRE(memory != MAP_FAILED);
    REQUIRE(madvise(memory, kBytes, MADV_NOHUGEPAGE) == 0);
    constexpr unsigned kObjects = 128;
    rte_mempool* objects =
        rte_mempool_create_empty("objects", kObjects, object_bytes, 0, 0, SOCKET_ID_ANY, 0);
    REQUIRE(objects != nullptr);
    REQUIRE(rte_mempool_set_ops_byname(objects, growing_ops(), nullptr) == 0);
    REQUIRE(rte_mempool_populate_iova(objects, static_cast<char*>(memory), RTE_BAD_IOVA, kBytes, nullptr,
                                      nullptr) == kObjects);
    std::array<unsigned char, kPages> pages{};
    REQUIRE(mincore(memory, kBytes, pages.data()) == 0);
    rte_mempool_free(objects);
    munmap(memory, kBytes);
    return std::ranges::count_if(pages, [](unsigned char page) { return (page & 1) != 0; });
  };
  CHECK(resident_of(2048) <= 128 + 1);
  CHECK(resident_of(16384) < 3 * 128);
}

}  // namespace
}  // namespace tfabric::nic
