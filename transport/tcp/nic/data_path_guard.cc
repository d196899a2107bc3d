#include "transport/tcp/nic/data_path_guard.h"

#include <mutex>

struct rte_eth_dev;

// The memif driver's own; the linker sends its callers here (--wrap in cmake/dpdk.cmake).
extern "C" void __real_memif_free_regions(rte_eth_dev* device);
extern "C" void __wrap_memif_free_regions(rte_eth_dev* device);

namespace tfabric::nic {
namespace {

std::mutex g_mutex;
DataPathGuard* g_guard = nullptr;  // guarded by g_mutex

}  // namespace

void set_data_path_guard(DataPathGuard* guard) {
  const std::lock_guard lock(g_mutex);
  g_guard = guard;
}

}  // namespace tfabric::nic

// By now the driver has marked the device as not connected, so that later bursts do nothing.
void __wrap_memif_free_regions(rte_eth_dev* device) {
  using tfabric::nic::g_guard;
  const std::lock_guard lock(tfabric::nic::g_mutex);
  if (g_guard != nullptr) {
    g_guard->pause();
  }
  __real_memif_free_regions(device);
  if (g_guard != nullptr) {
    g_guard->resume();
  }
}
