// The lcore of whoever holds an engine.
#pragma once

namespace tfabric::engine {
class EngineLock;
}

namespace tfabric::link {

// The holder of the lock has the engine's lcore id from now on, so that DPDK's mempools use the per-lcore
// cache that belongs to the engine: NCCL's threads are unknown to DPDK and would otherwise use the shared
// ring for each packet buffer. With the engine held, or before another thread knows it.
void use_lcores_of_engines(engine::EngineLock& lock);

}  // namespace tfabric::link
