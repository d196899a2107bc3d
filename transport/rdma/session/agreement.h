// Which rails of two ranks make pairs, and how their queue pairs are set up: a function of both offers, which
// both ranks compute for themselves, so that nothing about it needs to be told.
//
// Two rails can be a pair if they can talk: on InfiniBand both in one subnet; on RoCE both of one version,
// and with v2 of one address family. Links of different kinds never pair. Of those that can, pairs are made
// of
//   1. rails with the same rail and plane number, as rdma.hca gives them; then
//   2. rails in one subnet; then
//   3. those that are left,
// each time the first with the first, the second with the second. The pairs do not depend on which of the two
// ranks connects; their order is that of the connector's rails. A rail without a partner is not used.
//
// Of queue pairs and of MTUs the smaller number counts; they are connected by rdma_cm if both want it; how
// messages are split, the traffic class and the service level are the connector's, which is the sender.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/result.h"
#include "transport/rdma/session/offer.h"

namespace tfabric::rdma::session {

struct RailPair {
  std::size_t connector = 0;  // in the connector's Offer::rails
  std::size_t acceptor = 0;   // in the acceptor's
  std::uint32_t mtu = 0;
  friend bool operator==(const RailPair&, const RailPair&) = default;
};

struct Agreement {
  std::vector<RailPair> rails;  // at least one
  OfferOptions options;
  friend bool operator==(const Agreement&, const Agreement&) = default;
};

// Queue pairs and memory do not matter. Errc::invalid_usage: no two rails can talk; the message, the same on
// both sides, names all of them and what to do.
[[nodiscard]] Result<Agreement> agree(const Offer& connector, const Offer& acceptor);

// Whether a connector's offer is without fault, and has as many queue pairs on each rail as it says.
// Errc::remote: it is not.
[[nodiscard]] Status check_offer(const Offer& offer);
// Whether the answer has what was agreed upon: on each agreed rail as many queue pairs, and where rdma_cm
// listens if it is to connect them; elsewhere none.
// Errc::remote: it has not.
[[nodiscard]] Status check_answer(const Agreement& agreement, const Offer& answer);

}  // namespace tfabric::rdma::session
