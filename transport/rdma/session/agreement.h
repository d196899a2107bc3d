// Which rails of two ranks form pairs, and how their queue pairs are set up: a pure function of both offers,
// which both ranks compute, so that the result is not sent.
//
// Two rails can form a pair if they can talk: on InfiniBand, if both are in the same subnet; on RoCE, if both
// use the same version, and with v2 the same address family. Pairs are formed, in this order, of
//   1. rails with the same rail and plane number, as set by rdma.hca;
//   2. rails in the same subnet;
//   3. the remaining rails,
// each time the first with the first, the second with the second. The pairs do not depend on which rank
// connects; they are listed in the order of the connector's rails. A rail without a partner is not used.
//
// The smaller number of queue pairs and the smaller MTU are used. Splitting of messages, traffic class and
// service level are those of the connector, which is the sender.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/result.h"
#include "transport/rdma/session/offer.h"

namespace tfabric::rdma::session {

struct RailPair {
  std::size_t connector = 0;  // index in the connector's Offer::rails
  std::size_t acceptor = 0;   // index in the acceptor's
  std::uint32_t mtu = 0;
  friend bool operator==(const RailPair&, const RailPair&) = default;
};

struct Agreement {
  std::vector<RailPair> rails;  // at least one
  OfferOptions options;
  friend bool operator==(const Agreement&, const Agreement&) = default;
};

// Ignores queue pairs and memory. Fails with Errc::invalid_usage if no two rails can talk; the message, the
// same on both sides, lists the rails and what to do.
[[nodiscard]] Result<Agreement> agree(const Offer& connector, const Offer& acceptor);

// Fails with Errc::remote if a connector's offer is malformed, or has another number of queue pairs on a rail
// than it announces.
[[nodiscard]] Status check_offer(const Offer& offer);
// Fails with Errc::remote if the answer does not match the agreement: on each agreed rail the agreed number
// of queue pairs; none on other rails.
[[nodiscard]] Status check_answer(const Agreement& agreement, const Offer& answer);

}  // namespace tfabric::rdma::session
