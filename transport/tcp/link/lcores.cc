#include "transport/tcp/link/lcores.h"

#include <rte_lcore.h>

#include "transport/engine/access.h"

namespace tfabric::link {
namespace {

unsigned take_lcore(unsigned engine) {
  const unsigned own = rte_lcore_id();
  // EAL's main thread has ended by now, and EAL has no other threads: only the engines use the caches of its
  // lcore and of the following ones.
  RTE_PER_LCORE(_lcore_id) = rte_get_main_lcore() + engine;
  return own;
}

void give_back_lcore(unsigned own) { RTE_PER_LCORE(_lcore_id) = own; }

constexpr engine::LockHooks kHooks{.on_lock = take_lcore, .on_unlock = give_back_lcore};

}  // namespace

void use_lcores_of_engines(engine::EngineLock& lock) { lock.set_hooks(kHooks); }

}  // namespace tfabric::link
