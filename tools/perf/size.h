// Byte sizes as perf's users write them ("8", "64K", "1M", "1G"; 1024-based, as in nccl-tests), and the
// sweep of sizes between two of them.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace tfabric::perf {

// Digits with an optional K, M or G (either case, optionally followed by B or iB). Nothing for anything
// else, and for what does not fit 64 bits.
[[nodiscard]] std::optional<std::uint64_t> parse_size(std::string_view text);

// The shortest exact form: 65536 -> "64K", 1000 -> "1000".
[[nodiscard]] std::string format_size(std::uint64_t bytes);

// min, min*factor, ... while <= max; 0 is followed by 1. `factor` >= 2; empty if min > max.
[[nodiscard]] std::vector<std::uint64_t> size_sweep(std::uint64_t min, std::uint64_t max,
                                                    std::uint64_t factor);

}  // namespace tfabric::perf
