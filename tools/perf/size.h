// The message sizes that perf measures, between a smallest and a largest one.
#pragma once

#include <cstdint>
#include <vector>

namespace tfabric::perf {

// min, min*factor, ... while <= max; 0 is followed by 1. `factor` >= 2; empty if min > max.
[[nodiscard]] std::vector<std::uint64_t> size_sweep(std::uint64_t min, std::uint64_t max,
                                                    std::uint64_t factor);

}  // namespace tfabric::perf
