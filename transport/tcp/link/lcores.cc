#include "transport/tcp/link/lcores.h"

#include <rte_lcore.h>

#include "transport/engine/access.h"

namespace tfabric::link {
namespace {

unsigned enter(unsigned engine) {
  const unsigned outer = rte_lcore_id();
  // EAL's main thread has ended by now, and EAL has no other threads: only the engines use the caches of its
  // lcore and of the following ones.
  RTE_PER_LCORE(_lcore_id) = rte_get_main_lcore() + engine;
  return outer;
}

void leave(unsigned outer) { RTE_PER_LCORE(_lcore_id) = outer; }

constexpr engine::HolderMark kLcore{.enter = enter, .leave = leave};

}  // namespace

void use_lcores_of_engines(engine::EngineLock& lock) { lock.set_mark(&kLcore); }

}  // namespace tfabric::link
