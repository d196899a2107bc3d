// What this host says of its ports to its peers.
#pragma once

#include "config/config.h"
#include "transport/rdma/discovery/discovery.h"
#include "transport/rdma/meeting/offered_rail.h"

namespace tfabric::rdma::meeting {

// `gid` must be one of the port's.
[[nodiscard]] OfferedRail rail_of(const Hca& hca, const Port& port, const GidEntry& gid,
                                  const config::Rdma& wishes);

// A traffic class or service level, by NCCL's order of precedence: the configuration's, the communicator's
// traffic class, 0; -1: none is given.
[[nodiscard]] std::uint8_t traffic_class_of(int configured, int communicators);
[[nodiscard]] std::uint8_t service_level_of(int configured, int communicators);

}  // namespace tfabric::rdma::meeting
