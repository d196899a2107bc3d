#include "transport/tcp/port/pools.h"

#include <fmt/format.h>
#include <rte_errno.h>
#include <rte_lcore.h>
#include <rte_mbuf.h>

#include <algorithm>
#include <atomic>
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

Result<rte_mempool*> make_pool(const std::string& what, unsigned count, unsigned room, int numa_node) {
  static std::atomic<unsigned> number{0};
  // DPDK's names have at most 25 characters.
  const std::string name = fmt::format("tf-{}-{}", what.substr(0, 12), number.fetch_add(1));
  // DPDK refuses a cache of more than two thirds of its pool.
  rte_mempool* pool = rte_pktmbuf_pool_create(name.c_str(), count, std::min(kCache, count / 2), 0,
                                              static_cast<std::uint16_t>(room), numa_node);
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

}  // namespace tfabric::port
