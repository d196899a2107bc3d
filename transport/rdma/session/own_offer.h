// What this host offers to its peers: its rails and options, without queue pairs, keys and memory, which the
// caller adds; and the addresses on which its listeners can be reached.
#pragma once

#include <span>
#include <vector>

#include "base/result.h"
#include "config/config.h"
#include "host/interfaces.h"
#include "transport/rdma/discovery/discovery.h"
#include "transport/rdma/session/offer.h"

namespace tfabric::rdma::session {

// `gid` must be one of the port's.
[[nodiscard]] OfferedRail rail_of(const Hca& hca, const Port& port, const GidEntry& gid,
                                  const config::Rdma& wishes);

// `traffic_class` is the communicator's, or -1 if it has none.
[[nodiscard]] OfferOptions options_of(const config::Rdma& wishes, int traffic_class);

// Chooses the addresses that a listener offers: those of the interfaces that rdma.bootstrap_interface
// (NCCL_SOCKET_IFNAME) selects. Without it, those of all running interfaces except bridges of containers and
// virtual machines and loopback; of bridges if there is nothing better, of loopback if there is nothing else.
// One address of each family for each interface, IPv4 first, in the kernel's order of interfaces. Link-local
// IPv6 addresses are excluded, because they are valid only together with the peer's interface.

// Returns 1 to kMaxHandleAddresses addresses, best first. Fails with Errc::invalid_usage if there are none;
// the message lists the interfaces of this host.
[[nodiscard]] Result<std::vector<config::IpBytes>> offered_addresses(
    std::span<const host::LocalAddress> local, const config::Rdma& wishes);

}  // namespace tfabric::rdma::session
