#include "transport/tcp/nic/pools.h"

#include <fmt/format.h>
#include <linux/bpf.h>
#include <rte_eal.h>
#include <rte_errno.h>
#include <rte_lcore.h>
#include <rte_mbuf.h>
#include <rte_mbuf_pool_ops.h>
#include <rte_mempool.h>
#include <rte_memzone.h>

#include <algorithm>
#include <atomic>
#include <mutex>
#include <vector>

#include "config/rail_kinds.h"
#include "transport/tcp/nic/device_arguments.h"
#include "transport/tcp/nic/growing_pool.h"

namespace tfabric::nic {
namespace {

constexpr unsigned kPage = 4096;

// For each engine.
constexpr unsigned kHeaderBuffers = 8192;
constexpr unsigned kExternalBuffers = 8192;
constexpr unsigned kCache = 256;

static_assert(RTE_CACHE_LINE_SIZE + sizeof(rte_mbuf) + RTE_PKTMBUF_HEADROOM + kHeaderRoom ==
              2048 - RTE_CACHE_LINE_SIZE);

std::mutex g_mutex;
unsigned g_engines = 1;                  // guarded by g_mutex
rte_mempool* g_header_pool = nullptr;    // guarded by g_mutex
rte_mempool* g_external_pool = nullptr;  // guarded by g_mutex

// Receive pools that are not in use; guarded by g_mutex.
std::vector<rte_mempool*>& kept_pools() {
  static auto* pools = new std::vector<rte_mempool*>;  // never destroyed: ports may be closed at exit
  return *pools;
}

// DPDK's names have at most 25 characters.
std::string pool_name(const std::string& what) {
  static std::atomic<unsigned> number{0};
  return fmt::format("tf-{}-{}", what.substr(0, 12), number.fetch_add(1));
}

// DPDK refuses a cache of more than two thirds of its pool.
unsigned cache_of(unsigned count) { return std::min(kCache, count / 2); }

// NO_SPREAD: not made larger for the sake of memory channels. Only pools of pages have it.
constexpr unsigned kPagesFlag = RTE_MEMPOOL_F_NO_SPREAD;

void free_pages(rte_mempool_memhdr*, void* zone) { rte_memzone_free(static_cast<const rte_memzone*>(zone)); }

bool has_growing_pools() { return rte_eal_has_hugepages() == 0 && growing_ops() != nullptr; }

// --- pools of pages

// Makes each buffer a page of a memory zone: DPDK's own way to get a pool's memory cannot align to pages.
bool fill_with_pages(rte_mempool* pool, const std::string& name, rte_pktmbuf_pool_private& shape) {
  const char* const ops = has_growing_pools() ? growing_ops() : rte_mbuf_best_mempool_ops();
  if (rte_mempool_set_ops_byname(pool, ops, nullptr) != 0) {
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

struct Shape {
  std::uint32_t count;
  std::uint16_t room;
  int numa_node;
  bool pages;
};

bool has_shape(const rte_mempool* pool, const Shape& shape) {
  return pool->size == shape.count &&
         rte_pktmbuf_data_room_size(const_cast<rte_mempool*>(pool)) == shape.room &&
         pool->socket_id == shape.numa_node && ((pool->flags & kPagesFlag) != 0) == shape.pages;
}

rte_mempool* create_page_pool(const std::string& name, const Shape& shape) {
  constexpr unsigned kObject = kPage - RTE_CACHE_LINE_SIZE;  // less the mempool's header
  rte_pktmbuf_pool_private of_packets{};
  of_packets.mbuf_data_room_size = shape.room;
  rte_mempool* pool = rte_mempool_create_empty(name.c_str(), shape.count, kObject, cache_of(shape.count),
                                               sizeof of_packets, shape.numa_node, kPagesFlag);
  if (pool == nullptr || !fill_with_pages(pool, name, of_packets)) {
    const int error = rte_errno;
    rte_mempool_free(pool);
    rte_errno = error;
    return nullptr;
  }
  return pool;
}

rte_mempool* create(const std::string& what, const Shape& shape) {
  const std::string name = pool_name(what);
  if (shape.pages) {
    return create_page_pool(name, shape);
  }
  if (has_growing_pools()) {
    return create_growing_pool(name, shape.count, cache_of(shape.count), shape.room, shape.numa_node);
  }
  return rte_pktmbuf_pool_create_by_ops(name.c_str(), shape.count, cache_of(shape.count), 0, shape.room,
                                        shape.numa_node, rte_mbuf_best_mempool_ops());
}

// Reuses a pool of this shape that was kept. If there is none, the kept ones give way to the new pool.
Result<rte_mempool*> make_pool(const std::string& what, const Shape& shape) {
  std::vector<rte_mempool*>& kept = kept_pools();
  const auto found =
      std::find_if(kept.begin(), kept.end(), [&](const rte_mempool* pool) { return has_shape(pool, shape); });
  if (found != kept.end()) {
    rte_mempool* pool = *found;
    kept.erase(found);
    return pool;
  }
  std::for_each(kept.begin(), kept.end(), rte_mempool_free);
  kept.clear();
  rte_mempool* pool = create(what, shape);
  if (pool == nullptr) {
    return Error{
        Errc::unusable,
        fmt::format(
            "no memory for {} packet buffers of {} bytes ({}): raise memory.budget_mib, or reserve more "
            "hugepages",
            shape.count, shape.room, rte_strerror(rte_errno))};
  }
  return pool;
}

void release(rte_mempool* pool) {
  const std::lock_guard guard(g_mutex);
  if (rte_eal_has_hugepages() == 0 && in_use(pool) == 0) {
    kept_pools().push_back(pool);
    return;
  }
  rte_mempool_free(pool);
}

Result<std::shared_ptr<rte_mempool>> make_shared_pool(const std::string& what, const Shape& shape) {
  const std::lock_guard guard(g_mutex);
  Result<rte_mempool*> pool = make_pool(what, shape);
  if (!pool) {
    return pool.error();
  }
  return std::shared_ptr<rte_mempool>(*pool, release);
}

}  // namespace

void size_shared_pools(unsigned engines) {
  const std::lock_guard guard(g_mutex);
  g_engines = engines;
}

Result<rte_mempool*> header_pool() {
  const std::lock_guard guard(g_mutex);
  if (g_header_pool == nullptr) {
    auto pool = make_pool("header", {.count = kHeaderBuffers * g_engines,
                                     .room = RTE_PKTMBUF_HEADROOM + kHeaderRoom,
                                     .numa_node = SOCKET_ID_ANY,
                                     .pages = false});
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
    auto pool = make_pool(
        "external",
        {.count = kExternalBuffers * g_engines, .room = 0, .numa_node = SOCKET_ID_ANY, .pages = false});
    if (!pool) {
      return pool.error();
    }
    g_external_pool = *pool;
  }
  return g_external_pool;
}

// More than the frame itself needs, with its header and VLAN tag.
std::uint32_t receive_bytes(std::uint32_t mtu) {
  constexpr std::uint32_t kOverhead = 128, kLeast = 2048, kUnit = 512;
  return std::max(kLeast, (mtu + kOverhead + kUnit - 1) / kUnit * kUnit);
}

Result<std::shared_ptr<rte_mempool>> make_receive_pool(const std::string& name, std::uint32_t count,
                                                       std::uint32_t mtu, int numa_node) {
  constexpr unsigned kMaxRoom = 65535;
  const unsigned room = std::min(kMaxRoom, RTE_PKTMBUF_HEADROOM + receive_bytes(mtu));
  return make_shared_pool(
      name,
      {.count = count, .room = static_cast<std::uint16_t>(room), .numa_node = numa_node, .pages = false});
}

Result<std::shared_ptr<rte_mempool>> make_page_pool(const std::string& name, std::uint32_t count,
                                                    int numa_node) {
  constexpr unsigned kRoom = kPage - RTE_CACHE_LINE_SIZE - sizeof(rte_mbuf);
  // The kernel keeps that much before a frame for XDP programs, which may put headers there.
  constexpr unsigned kBeforeFrame = RTE_PKTMBUF_HEADROOM + XDP_PACKET_HEADROOM;
  constexpr unsigned kEthernet = 14, kVlan = 4;
  static_assert(kRoom - kBeforeFrame == config::kMostAfXdpMtu + kEthernet + kVlan);
  return make_shared_pool(name, {.count = count, .room = kRoom, .numa_node = numa_node, .pages = true});
}

}  // namespace tfabric::nic
