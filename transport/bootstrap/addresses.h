// On which addresses of this host the kernel's TCP connections between two processes of a job are made:
// NCCL's rules for its own bootstrap.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "config/config.h"
#include "host/interfaces.h"

namespace tfabric::bootstrap {

inline constexpr std::size_t kMaxAddresses = 4;

// Returns true for 127.0.0.0/8 and ::1.
[[nodiscard]] bool is_loopback(const config::IpBytes& ip);

// Returns the addresses that these rules select, in the kernel's order: all of each interface, of the
// families that are wanted.
[[nodiscard]] std::vector<host::LocalAddress> selected_addresses(std::span<const host::LocalAddress> local,
                                                                 const config::Rdma& wishes);
// Why they select none: the message lists the interfaces of this host.
[[nodiscard]] std::string nothing_selected(std::span<const host::LocalAddress> local,
                                           const config::Rdma& wishes);

// Returns the addresses of the interfaces that rdma.bootstrap_interface (NCCL_SOCKET_IFNAME) selects, 1 to
// kMaxAddresses, best first. Without it, those of all running interfaces except bridges of containers and
// virtual machines and loopback; of bridges if there is nothing better, of loopback if there is nothing else.
// One address of each family for each interface, IPv4 first, in the kernel's order of interfaces. Link-local
// IPv6 addresses are excluded, because they are valid only together with the peer's interface. Fails with
// Errc::invalid_usage if there are none, with nothing_selected().
[[nodiscard]] Result<std::vector<config::IpBytes>> offered_addresses(
    std::span<const host::LocalAddress> local, const config::Rdma& wishes);

}  // namespace tfabric::bootstrap
