// What a simulated host gets instead of its kernel's: a time that the simulation moves, and random numbers of
// the seed. Both belong to the thread, so that a simulation is the same each time it runs.
#pragma once

#include <cstdint>

#include "base/time.h"

namespace tfabric::simulation::rails {

// For EngineOptions::clock.
[[nodiscard]] Instant virtual_now();
void set_virtual_time(Instant now);

// Everything in this program that asks the kernel for random numbers gets those of the seed from now on.
void seed_kernel_random(std::uint64_t seed);

}  // namespace tfabric::simulation::rails
