// DPDK's lcore id of the thread that holds an engine's lock.
#pragma once

#include "transport/engine/turn.h"

namespace tfabric::engine {
class EngineLock;
}

namespace tfabric::link {

// The thread that holds the lock has the engine's lcore id from now on, so that DPDK's mempools use the
// per-lcore cache that belongs to the engine: NCCL's threads are unknown to DPDK and would otherwise use the
// shared ring for each packet buffer. Call it with the lock held, any number of times.
void use_lcores_of_engines(engine::EngineLock& lock) TF_IN_TURN;

}  // namespace tfabric::link
