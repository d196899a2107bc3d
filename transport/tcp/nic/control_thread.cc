#include "transport/tcp/nic/control_thread.h"

#include <rte_alarm.h>
#include <rte_interrupts.h>

#include <atomic>
#include <future>
#include <mutex>

#include "base/log.h"

struct rte_eth_dev;

// The memif driver's own function; the linker sends its callers to the wrapper (--wrap in cmake/dpdk.cmake).
extern "C" void __real_memif_free_regions(rte_eth_dev* device);
extern "C" void __wrap_memif_free_regions(rte_eth_dev* device);

namespace tfabric::nic {
namespace {

std::mutex g_mutex;
DataPathGuard* g_guard = nullptr;  // guarded by g_mutex

struct Job {
  const std::function<void()>& work;
  std::promise<void> done;
  // DPDK orders the two threads as well, but not where ThreadSanitizer can see it.
  std::atomic<bool> handed_over{false};
};

void run_job(void* argument) {
  auto& job = *static_cast<Job*>(argument);
  static_cast<void>(job.handed_over.load(std::memory_order_acquire));
  job.work();
  job.done.set_value();
}

}  // namespace

void run_on_control_thread(const std::function<void()>& work) {
  if (rte_thread_is_intr() != 0) {
    work();
    return;
  }
  Job job{.work = work};
  job.handed_over.store(true, std::memory_order_release);
  constexpr std::uint64_t kSoon = 1;  // microseconds; the least that is allowed
  if (rte_eal_alarm_set(kSoon, run_job, &job) != 0) {
    // Out of memory. Working on this thread may race; not working would certainly leak.
    TF_WARN("NET/tfabric: no memory for a job of DPDK's interrupt thread");
    work();
    return;
  }
  job.done.get_future().wait();
}

void set_data_path_guard(DataPathGuard* guard) {
  const std::lock_guard lock(g_mutex);
  g_guard = guard;
}

}  // namespace tfabric::nic

// The driver has marked the device as not connected before this, so later bursts do nothing.
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
