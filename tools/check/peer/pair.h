// `tfabric check --peer` and `--listen`: two hosts try their rails, pair by pair, in both directions.
#pragma once

#include <cstdint>
#include <string>

#include "base/result.h"
#include "tools/check/examine.h"

namespace tfabric::check {

inline constexpr std::uint16_t kPairPort = 18591;  // beside that of `tfabric perf`

// Both open the NICs, as a job would, and add what they find to `report`, whose verdict is that of all. An
// Error: the two do not meet, or one gave up.
Status listen_for_peer(std::uint16_t port, const Host& host, Report& report);
Status try_peer(const std::string& peer, std::uint16_t port, const Host& host, Report& report);

}  // namespace tfabric::check
