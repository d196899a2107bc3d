#include "transport/tcp/engine/engine_lock.h"

#include <rte_lcore.h>
#include <sched.h>

namespace tfabric::engine {

void EngineLock::enter() {
  outer_lcore_ = rte_lcore_id();
  // EAL's main thread has ended by now and there are no others, so the caches of its lcore and of those that
  // would follow it are nobody's but the engines'.
  RTE_PER_LCORE(_lcore_id) = rte_get_main_lcore() + number_;
}

bool EngineLock::try_lock() {
  if (held_.load(std::memory_order_relaxed) || held_.exchange(true, std::memory_order_acquire)) {
    return false;
  }
  enter();
  return true;
}

void EngineLock::lock() {
  if (try_lock()) {
    return;
  }
  waiting_.fetch_add(1, std::memory_order_relaxed);
  while (!try_lock()) {
    sched_yield();
  }
  waiting_.fetch_sub(1, std::memory_order_relaxed);
}

void EngineLock::unlock() {
  RTE_PER_LCORE(_lcore_id) = outer_lcore_;
  held_.store(false, std::memory_order_release);
}

}  // namespace tfabric::engine
