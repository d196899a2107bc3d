// Random numbers of simulations.
#pragma once

#include "base/random.h"

namespace tfabric::simulation {

using Random = SeededRandom;

}  // namespace tfabric::simulation
