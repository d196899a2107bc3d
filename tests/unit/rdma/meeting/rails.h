// Ports for tests, built explicitly or at random from a seed.
#pragma once

#include <string>
#include <vector>

#include "base/random.h"
#include "transport/rdma/meeting/agreement.h"
#include "transport/rdma/meeting/offered_rail.h"

namespace tfabric::rdma::meeting {

// "10.0.0.5" or "fd00::5".
[[nodiscard]] config::IpBytes ip(const std::string& text);

// RoCE v2, MTU 4096, prefix /24 or /64.
[[nodiscard]] OfferedRail roce_rail(const std::string& hca, const std::string& address);
// `subnet` is its prefix, like "fe80::".
[[nodiscard]] OfferedRail infiniband_rail(const std::string& hca, const std::string& subnet);
[[nodiscard]] OfferedRail with_rail_id(OfferedRail rail, std::int16_t rail_id);

// Random valid rails. They take few different values, so that many match.
[[nodiscard]] std::vector<OfferedRail> random_rails(SeededRandom& random);

}  // namespace tfabric::rdma::meeting
