#include "transport/tcp/port/pools.h"

#include <fmt/format.h>
#include <linux/bpf.h>
#include <rte_errno.h>
#include <rte_lcore.h>
#include <rte_mbuf.h>
#include <rte_memzone.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <mutex>

#include "transport/tcp/port/device_arguments.h"

namespace tfabric::port {
namespace {

// For each engine.
constexpr unsigned kHeaderBuffers = 8192;
constexpr unsigned kExternalBuffers = 8192;
constexpr unsigned kCache = 256;

std::mutex g_mutex;
unsigned g_engines = 1;                  // guarded by g_mutex
rte_mempool* g_header_pool = nullptr;    // guarded by g_mutex
rte_mempool* g_external_pool = nullptr;  // guarded by g_mutex

// DPDK's names have at most 25 characters.
std::string pool_name(const std::string& what) {
  static std::atomic<unsigned> number{0};
  return fmt::format("tf-{}-{}", what.substr(0, 12), number.fetch_add(1));
}

// DPDK refuses a cache of more than two thirds of its pool.
unsigned cache_of(unsigned count) { return std::min(kCache, count / 2); }

Result<rte_mempool*> pool_or_error(rte_mempool* pool, unsigned count, unsigned room) {
  if (pool == nullptr) {
    return Error{
        Errc::unusable,
        fmt::format(
            "no memory for {} packet buffers of {} bytes ({}): raise memory.budget_mib, or reserve more "
            "hugepages",
            count, room, rte_strerror(rte_errno))};
  }
  return pool;
}

constexpr unsigned kPage = 4096;

void free_pages(rte_mempool_memhdr*, void* zone) { rte_memzone_free(static_cast<const rte_memzone*>(zone)); }

// Each buffer is a page of a memory zone: DPDK's own way of finding memory knows no such alignment.
bool fill_with_pages(rte_mempool* pool, const std::string& name, rte_pktmbuf_pool_private& shape) {
  if (rte_mempool_set_ops_byname(pool, "ring_mp_mc", nullptr) != 0) {
    return false;
  }
  rte_pktmbuf_pool_init(pool, &shape);
  const std::size_t size = std::size_t{pool->size} * kPage;
  const rte_memzone* zone = rte_memzone_reserve_aligned(name.c_str(), size, pool->socket_id, 0, kPage);
  if (zone == nullptr) {
    return false;
  }
  const int filled = rte_mempool_populate_iova(pool, static_cast<char*>(zone->addr), zone->iova, size,
                                               free_pages, const_cast<rte_memzone*>(zone));
  if (filled != static_cast<int>(pool->size)) {
    if (filled <= 0) {
      rte_memzone_free(zone);
    }
    rte_errno = ENOMEM;
    return false;
  }
  rte_mempool_obj_iter(pool, rte_pktmbuf_init, nullptr);
  return true;
}

Result<rte_mempool*> make_pool(const std::string& what, unsigned count, unsigned room, int numa_node) {
  return pool_or_error(rte_pktmbuf_pool_create(pool_name(what).c_str(), count, cache_of(count), 0,
                                               static_cast<std::uint16_t>(room), numa_node),
                       count, room);
}

}  // namespace

void size_shared_pools(unsigned engines) {
  const std::lock_guard guard(g_mutex);
  g_engines = engines;
}

Result<rte_mempool*> header_pool() {
  const std::lock_guard guard(g_mutex);
  if (g_header_pool == nullptr) {
    auto pool =
        make_pool("header", kHeaderBuffers * g_engines, RTE_PKTMBUF_HEADROOM + kHeaderRoom, SOCKET_ID_ANY);
    if (!pool) {
      return pool.error();
    }
    g_header_pool = *pool;
  }
  return g_header_pool;
}

Result<rte_mempool*> external_pool() {
  const std::lock_guard guard(g_mutex);
  if (g_external_pool == nullptr) {
    auto pool = make_pool("external", kExternalBuffers * g_engines, 0, SOCKET_ID_ANY);
    if (!pool) {
      return pool.error();
    }
    g_external_pool = *pool;
  }
  return g_external_pool;
}

Result<rte_mempool*> make_receive_pool(const std::string& name, std::uint32_t count, std::uint32_t mtu,
                                       int numa_node) {
  constexpr unsigned kMaxRoom = 65535;
  // More than the frame itself needs, with its header and VLAN tag.
  return make_pool(name, count, std::min(kMaxRoom, RTE_PKTMBUF_HEADROOM + af_packet_frame_bytes(mtu)),
                   numa_node);
}

Result<rte_mempool*> make_page_pool(const std::string& what, std::uint32_t count, int numa_node) {
  constexpr unsigned kObject = kPage - RTE_CACHE_LINE_SIZE;  // less the mempool's header
  constexpr unsigned kRoom = kObject - sizeof(rte_mbuf);
  // The kernel keeps that much before a frame for XDP programs, which may put headers there.
  constexpr unsigned kBeforeFrame = RTE_PKTMBUF_HEADROOM + XDP_PACKET_HEADROOM;
  constexpr unsigned kEthernet = 14, kVlan = 4;
  static_assert(kRoom - kBeforeFrame == kAfXdpMtu + kEthernet + kVlan);
  const std::string name = pool_name(what);
  rte_pktmbuf_pool_private shape{};
  shape.mbuf_data_room_size = kRoom;
  // NO_SPREAD: not made larger for the sake of memory channels.
  rte_mempool* pool = rte_mempool_create_empty(name.c_str(), count, kObject, cache_of(count), sizeof shape,
                                               numa_node, RTE_MEMPOOL_F_NO_SPREAD);
  if (pool == nullptr || !fill_with_pages(pool, name, shape)) {
    const int error = rte_errno;
    rte_mempool_free(pool);
    rte_errno = error;
    pool = nullptr;
  }
  return pool_or_error(pool, count, kRoom);
}

}  // namespace tfabric::port
