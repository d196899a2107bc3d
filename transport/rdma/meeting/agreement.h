// Which rails of two ranks form pairs: a pure function of what both say of their ports.
//
// Two rails can form a pair if they can talk: on InfiniBand, if both are in the same subnet; on RoCE, if both
// use the same version, and with v2 the same address family; and if both or none are in reserve. Pairs are
// formed, in this order, of
//   1. rails with the same rail and plane number, as set by rdma.hca;
//   2. rails in the same subnet;
//   3. the remaining rails,
// each time the first with the first, the second with the second. The pairs do not depend on which rank
// connects; they are listed in the order of the connector's rails. A rail without a partner is not used.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "base/result.h"
#include "transport/rdma/meeting/offered_rail.h"

namespace tfabric::rdma::meeting {

struct RailPair {
  std::size_t connector = 0;  // index in the connector's rails
  std::size_t acceptor = 0;   // index in the acceptor's
  friend bool operator==(const RailPair&, const RailPair&) = default;
};

// Returns at least one pair. Fails with Errc::invalid_usage if no two rails can talk; the message, the same
// on both sides, lists the rails and what to do.
[[nodiscard]] Result<std::vector<RailPair>> agree(std::span<const OfferedRail> connector,
                                                  std::span<const OfferedRail> acceptor);

}  // namespace tfabric::rdma::meeting
