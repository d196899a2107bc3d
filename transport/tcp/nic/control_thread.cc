#include "transport/tcp/nic/control_thread.h"

#include <rte_alarm.h>
#include <rte_interrupts.h>

#include <atomic>
#include <future>

#include "base/log.h"

namespace tfabric::nic {
namespace {

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
    // Out of memory: the race is less likely than the leak would be certain.
    TF_WARN("NET/tfabric: no memory for a job of DPDK's interrupt thread");
    work();
    return;
  }
  job.done.get_future().wait();
}

}  // namespace tfabric::nic
