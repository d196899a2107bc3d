// What this host offers, from its ports as they were discovered and from the configuration. The queue pairs,
// keys and memory are added by whoever makes them.
#pragma once

#include <span>
#include <vector>

#include "base/result.h"
#include "config/config.h"
#include "host/interfaces.h"
#include "transport/rdma/discovery/discovery.h"
#include "transport/rdma/session/offer.h"

namespace tfabric::rdma::session {

// `gid` is one of the port's.
[[nodiscard]] OfferedRail rail_of(const Hca& hca, const Port& port, const GidEntry& gid,
                                  const config::Rdma& wishes);

// `traffic_class` is the communicator's; -1: it has none.
[[nodiscard]] OfferOptions options_of(const config::Rdma& wishes, int traffic_class);

// Which of this host's addresses a listener offers to its peers.
//
// Those of the interfaces that rdma.bootstrap_interface (NCCL_SOCKET_IFNAME) selects, else of all that are
// running but bridges of containers and virtual machines, and loopback: of bridges if there is nothing
// better, of loopback if there is nothing else. One of each family an interface, IPv4 first, in the kernel's
// order of interfaces. Not those of IPv6 that are link-local: they mean nothing without the peer's interface.

// 1 to kMaxHandleAddresses, the best first. Errc::invalid_usage: there is none; the message names what there
// is.
[[nodiscard]] Result<std::vector<config::IpBytes>> offered_addresses(
    std::span<const host::LocalAddress> local, const config::Rdma& wishes);

}  // namespace tfabric::rdma::session
