// At which addresses of which interfaces the kernel's TCP reaches this process. One answer for all who ask:
// rails of the kernel's TCP, the life-boat, the witness, and the meeting of RDMA's ranks. It follows NCCL's
// rules for its own bootstrap, and adds what NCCL leaves to its user.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "base/time.h"
#include "config/config.h"
#include "host/interfaces.h"

namespace tfabric::bootstrap {

inline constexpr std::size_t kMaxAddresses = 4;
// If none are named: as many as can be one device.
inline constexpr std::size_t kMaxInterfaces = config::kMostBonded;

// Returns true for 127.0.0.0/8 and ::1.
[[nodiscard]] bool is_loopback(const config::IpBytes& ip);

// An interface, with its preferred address of each family: one or two, IPv4 first.
struct OfferedInterface {
  std::string name;
  std::vector<host::LocalAddress> addresses;
};

struct Offer {
  std::vector<OfferedInterface> interfaces;  // in the kernel's order
  std::size_t left_out = 0;                  // interfaces beyond kMaxInterfaces
};

// Returns what peers are offered. An address counts if its interface is up and has a link, its family is
// wanted (rdma.bootstrap_family, NCCL_SOCKET_FAMILY), and it is neither link-local of IPv6, which is valid
// together with the peer's interface only, nor tentative or a duplicate. Of an interface's addresses of one
// family, a stable one comes before a temporary and that before a deprecated one. An address that several
// interfaces have is one's alone: of the one with the shortest prefix, otherwise of loopback or a dummy.
//
// Of the interfaces, those that rdma.bootstrap_interface (NCCL_SOCKET_IFNAME) selects are offered. Without
// it, those of the best kind that there is: interfaces that lead to a network; the host's own addresses on
// loopback and dummy interfaces; bridges and overlays of containers and virtual machines, and what has an
// address that others have, too; interfaces with nothing but link-local addresses of IPv4; loopback.
[[nodiscard]] Offer offer(std::span<const host::LocalAddress> local, const config::Rdma& wishes);

// Returns the preferred addresses of one interface that is meant by its name, of the families that are
// wanted.
[[nodiscard]] std::vector<host::LocalAddress> addresses_of(std::span<const host::LocalAddress> local,
                                                           const std::string& interface,
                                                           const config::Rdma& wishes);

// Why nothing is offered: the message lists the interfaces of this host.
[[nodiscard]] std::string nothing_offered(std::span<const host::LocalAddress> local,
                                          const config::Rdma& wishes);

// Returns the first kMaxAddresses of what is offered, IPv4 first. Fails with Errc::invalid_usage if there are
// none, with nothing_offered().
[[nodiscard]] Result<std::vector<config::IpBytes>> offered_addresses(
    std::span<const host::LocalAddress> local, const config::Rdma& wishes);

// Returns true if more would be offered in a moment: an address is tentative (RFC 4862 §5.4), or nothing that
// leads to a network has a link yet and something that is up may get one. `named`: the interfaces that the
// configuration names; if there are some, the others do not count.
[[nodiscard]] bool is_settling(std::span<const host::LocalAddress> local, std::span<const std::string> named,
                               const config::Rdma& wishes);
// A host that has just started, or a container, may take so long for its link and for the detection of
// duplicate addresses (RFC 4862: 1 s, after a delay of up to 1 s).
inline constexpr Duration kSettling = std::chrono::seconds(2);
// Reads the addresses of this host, again and again while they are settling, for kSettling at most.
[[nodiscard]] std::vector<host::LocalAddress> settled_addresses(std::span<const std::string> named,
                                                                const config::Rdma& wishes);

}  // namespace tfabric::bootstrap
