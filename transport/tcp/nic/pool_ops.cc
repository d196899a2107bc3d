#include "transport/tcp/nic/pool_ops.h"

#include <rte_eal.h>
#include <rte_mbuf_pool_ops.h>
#include <rte_mempool.h>
#include <sys/mman.h>

#include <algorithm>
#include <cstdint>
#include <span>
#include <string_view>

namespace tfabric::nic {
namespace {

constexpr const char* kRings = "ring_mp_mc";
constexpr const char* kPrefaulting = "tfabric";
constexpr std::size_t kPage = 4096;

std::size_t object_bytes(const rte_mempool& pool) {
  return std::size_t{pool.header_size} + pool.elt_size + pool.trailer_size;
}

int populate(rte_mempool* pool, unsigned objects, void* address, rte_iova_t iova, std::size_t length,
             rte_mempool_populate_obj_cb_t* with_each, void* argument) {
  const std::size_t each = object_bytes(*pool);
  // Of larger objects only the first page is touched here, and the others if they are ever used.
  if (each <= kPage) {
    const std::size_t into_page = reinterpret_cast<std::uintptr_t>(address) % kPage;
    // None lies across two pages.
    const std::size_t bytes = (objects / (kPage / each) + 1) * kPage;
    // Linux before 5.14 does not know it, and what it cannot give now is for the touch to find.
    madvise(static_cast<char*>(address) - into_page, into_page + std::min(length, bytes),
            MADV_POPULATE_WRITE);
  }
  return rte_mempool_op_populate_default(pool, objects, address, iova, length, with_each, argument);
}

// False: DPDK has no place for them, or not the rings.
bool register_prefaulting() {
  const std::span known(rte_mempool_ops_table.ops, rte_mempool_ops_table.num_ops);
  const auto rings = std::ranges::find(known, std::string_view(kRings),
                                       [](const rte_mempool_ops& ops) { return std::string_view(ops.name); });
  if (rings == known.end()) {
    return false;
  }
  rte_mempool_ops ops = *rings;
  std::string_view(kPrefaulting).copy(ops.name, sizeof ops.name - 1);
  ops.name[std::string_view(kPrefaulting).size()] = '\0';
  ops.populate = populate;
  return rte_mempool_register_ops(&ops) >= 0;
}

}  // namespace

const char* pool_ops() {
  if (rte_eal_has_hugepages() != 0) {
    return rte_mbuf_best_mempool_ops();
  }
  static const bool registered = register_prefaulting();
  return registered ? kPrefaulting : rte_mbuf_best_mempool_ops();
}

}  // namespace tfabric::nic
