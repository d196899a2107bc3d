#include "transport/tcp/nic/growing_pool.h"

#include <fmt/format.h>
#include <rte_errno.h>
#include <rte_mbuf.h>
#include <rte_memzone.h>
#include <sys/mman.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <mutex>
#include <new>
#include <span>
#include <string_view>

namespace tfabric::nic {
namespace {

constexpr std::size_t kPage = 4096;
constexpr const char* kRings = "ring_mp_mc";
constexpr const char* kName = "tfabric";

rte_mempool_ops g_rings{};  // constant after registration

// What a pool grows into; its pool_config, which lies in the pool's own memory, behind what packets need.
struct Growth {
  struct Zone {
    const rte_memzone* memory = nullptr;
    std::size_t used = 0;  // bytes
  };
  static constexpr std::size_t kMostZones = 64;

  Growth() = default;
  ~Growth() {
    for (const Zone& zone : std::span(zones).first(count)) {
      rte_memzone_free(zone.memory);
    }
  }
  Growth(const Growth&) = delete;
  Growth& operator=(const Growth&) = delete;

  std::mutex mutex;
  // Guarded by mutex.
  std::array<Zone, kMostZones> zones;
  std::size_t count = 0;  // of the zones
};

// Bytes before it: as many cache lines as DPDK rounds a pool's private memory to.
constexpr std::size_t kOfPackets =
    (sizeof(rte_pktmbuf_pool_private) + RTE_CACHE_LINE_SIZE - 1) / RTE_CACHE_LINE_SIZE * RTE_CACHE_LINE_SIZE;

Growth* growth_of(const rte_mempool* pool) { return static_cast<Growth*>(pool->pool_config); }

std::size_t object_bytes(const rte_mempool& pool) {
  return std::size_t{pool.header_size} + pool.elt_size + pool.trailer_size;
}

// Bytes of so many objects, of which DPDK lets none cross a page that could hold it.
std::size_t bytes_of(std::size_t objects, std::size_t each) {
  return each > kPage ? (each + kPage - 1) / kPage * kPage * objects
                      : (objects + kPage / each - 1) / (kPage / each) * kPage;
}

struct Maker {
  rte_mempool_populate_obj_cb_t* add;  // DPDK's: from then on the object can be taken
  void* argument;
};

void make_packet(rte_mempool* pool, void* maker, void* object, rte_iova_t iova) {
  // Of the pool's part of the object, what making a packet reads.
  rte_mempool_get_header(object)->iova = iova;
  rte_pktmbuf_init(pool, nullptr, object, 0);
  static_cast<const Maker*>(maker)->add(pool, static_cast<const Maker*>(maker)->argument, object, iova);
}

int populate(rte_mempool* pool, unsigned objects, void* address, rte_iova_t iova, std::size_t length,
             rte_mempool_populate_obj_cb_t* add, void* argument) {
  // Making a pool touches only the first page of larger objects.
  if (const std::size_t each = object_bytes(*pool); each <= kPage) {
    const std::size_t into_page = reinterpret_cast<std::uintptr_t>(address) % kPage;
    // Ignores failures: Linux before 5.14 does not know the request, and what is missing is faulted in later.
    madvise(static_cast<char*>(address) - into_page,
            into_page + std::min(length, bytes_of(std::size_t{objects} + 1, each)), MADV_POPULATE_WRITE);
  }
  if (growth_of(pool) == nullptr) {
    return rte_mempool_op_populate_default(pool, objects, address, iova, length, add, argument);
  }
  Maker maker{.add = add, .argument = argument};
  return rte_mempool_op_populate_default(pool, objects, address, iova, length, make_packet, &maker);
}

// Takes memory for so many buffers, in as few zones as there is room for.
bool reserve(rte_mempool* pool, Growth& growth) {
  const std::size_t each = object_bytes(*pool);
  std::size_t left = pool->size;
  for (std::size_t most = left; left > 0;) {
    if (growth.count == Growth::kMostZones) {
      return false;
    }
    const std::string name = fmt::format("{}-{}", pool->name, growth.count);
    const std::size_t count = std::min(left, most);
    const rte_memzone* zone =
        rte_memzone_reserve_aligned(name.c_str(), bytes_of(count, each), pool->socket_id, 0, kPage);
    if (zone != nullptr) {
      growth.zones[growth.count++] = {.memory = zone};
      left -= count;
    } else if ((most /= 2) == 0) {
      return false;
    }
  }
  return true;
}

// Makes up to so many more buffers of one zone, and one or more.
bool make_more(rte_mempool* pool, Growth& growth, std::size_t count) {
  const auto zones = std::span(growth.zones).first(growth.count);
  const auto zone =
      std::ranges::find_if(zones, [](const Growth::Zone& each) { return each.used < each.memory->len; });
  if (zone == zones.end()) {
    return false;
  }
  const std::size_t bytes = std::min(bytes_of(count, object_bytes(*pool)), zone->memory->len - zone->used);
  const int made = rte_mempool_populate_iova(pool, static_cast<char*>(zone->memory->addr) + zone->used,
                                             zone->memory->iova + zone->used, bytes, nullptr, nullptr);
  zone->used += bytes;
  return made > 0;
}

bool grow(rte_mempool* pool, Growth& growth, unsigned wanted) {
  const std::lock_guard guard(growth.mutex);
  for (;;) {
    const unsigned here = g_rings.get_count(pool);  // others may have grown the pool, or given buffers back
    if (here >= wanted) {
      return true;
    }
    const unsigned left = pool->size - pool->populated_size;
    if (left == 0 || !make_more(pool, growth, std::min(left, wanted - here))) {
      return false;
    }
  }
}

int dequeue(rte_mempool* pool, void** objects, unsigned count) {
  int error = g_rings.dequeue(pool, objects, count);
  Growth* const growth = growth_of(pool);
  // Other threads may take what was made for this one.
  while (error != 0 && growth != nullptr && grow(pool, *growth, count)) {
    error = g_rings.dequeue(pool, objects, count);
  }
  return error;
}

void free_all(rte_mempool* pool) {
  g_rings.free(pool);
  if (Growth* const growth = growth_of(pool); growth != nullptr) {
    growth->~Growth();
  }
}

bool register_ops() {
  const std::span known(rte_mempool_ops_table.ops, rte_mempool_ops_table.num_ops);
  const auto rings = std::ranges::find(known, std::string_view(kRings),
                                       [](const rte_mempool_ops& ops) { return std::string_view(ops.name); });
  if (rings == known.end()) {
    return false;
  }
  g_rings = *rings;
  rte_mempool_ops ops = *rings;
  std::string_view(kName).copy(ops.name, sizeof ops.name - 1);
  ops.name[std::string_view(kName).size()] = '\0';
  ops.populate = populate;
  ops.dequeue = dequeue;
  ops.free = free_all;
  return rte_mempool_register_ops(&ops) >= 0;
}

}  // namespace

const char* growing_ops() {
  static const bool registered = register_ops();
  return registered ? kName : nullptr;
}

rte_mempool* create_growing_pool(const std::string& name, std::uint32_t count, unsigned cache,
                                 std::uint16_t room, int numa_node) {
  constexpr std::size_t kFirst = 64;  // a pool has its rings with its first objects
  rte_pktmbuf_pool_private of_packets{};
  of_packets.mbuf_data_room_size = room;
  rte_mempool* pool = rte_mempool_create_empty(name.c_str(), count, sizeof(rte_mbuf) + room, cache,
                                               kOfPackets + sizeof(Growth), numa_node, 0);
  if (pool == nullptr) {
    return nullptr;
  }
  auto* const growth = new (static_cast<char*>(rte_mempool_get_priv(pool)) + kOfPackets) Growth;
  if (rte_mempool_set_ops_byname(pool, growing_ops(), growth) == 0) {
    rte_pktmbuf_pool_init(pool, &of_packets);
    if (reserve(pool, *growth) && make_more(pool, *growth, std::min<std::size_t>(kFirst, count))) {
      return pool;
    }
  }
  rte_mempool_free(pool);
  rte_errno = ENOMEM;
  return nullptr;
}

unsigned in_use(const rte_mempool* pool) { return pool->populated_size - rte_mempool_avail_count(pool); }

}  // namespace tfabric::nic
