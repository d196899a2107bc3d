// What this host offers to its peers: its rails and options, without queue pairs, keys and memory, which the
// caller adds.
#pragma once

#include "config/config.h"
#include "transport/rdma/discovery/discovery.h"
#include "transport/rdma/session/offer.h"

namespace tfabric::rdma::session {

// `gid` must be one of the port's.
[[nodiscard]] OfferedRail rail_of(const Hca& hca, const Port& port, const GidEntry& gid,
                                  const config::Rdma& wishes);

// A traffic class or service level, by NCCL's order of precedence: the configuration's, the communicator's
// traffic class, 0; -1: none is given.
[[nodiscard]] std::uint8_t traffic_class_of(int configured, int communicators);
[[nodiscard]] std::uint8_t service_level_of(int configured, int communicators);

// `traffic_class` is the communicator's, or -1 if it has none.
[[nodiscard]] OfferOptions options_of(const config::Rdma& wishes, int traffic_class);

}  // namespace tfabric::rdma::session
