// What this host offers, from its ports as they were discovered and from the configuration. The queue pairs,
// keys and memory are added by whoever makes them.
#pragma once

#include "config/config.h"
#include "transport/rdma/discovery/discovery.h"
#include "transport/rdma/session/offer.h"

namespace tfabric::rdma::session {

// `gid` is one of the port's.
[[nodiscard]] OfferedRail rail_of(const Hca& hca, const Port& port, const GidEntry& gid,
                                  const config::Rdma& wishes);

// `traffic_class` is the communicator's; -1: it has none.
[[nodiscard]] OfferOptions options_of(const config::Rdma& wishes, int traffic_class);

}  // namespace tfabric::rdma::session
