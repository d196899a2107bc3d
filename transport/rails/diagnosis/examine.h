// What is wrong on this host with the rails that the configuration names, before any is opened.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "config/config.h"
#include "transport/diagnosis/diagnosis.h"
#include "transport/diagnosis/host.h"

namespace tfabric::rails {

// Reads only: nothing is opened for use, bound or changed. No findings if no rail is configured.
[[nodiscard]] diagnosis::Diagnosis examine(const config::Config& config, const diagnosis::Host& host);

// Returns which of the configured rails one process uses, for messages.
[[nodiscard]] std::string rails_of_process(const config::Config& config);

// Returns how peers reach the configured rails that devices stand for, in their order.
[[nodiscard]] std::vector<diagnosis::RailNetwork> rail_networks(const config::Tcp& config);

// Returns which rails of two hosts meet, one to one, as positions. The same in mirror image from the other
// side if both name the same networks.
[[nodiscard]] std::vector<std::pair<std::size_t, std::size_t>> meeting_rails(
    std::span<const diagnosis::RailNetwork> ours, std::span<const diagnosis::RailNetwork> theirs);

// Returns true if a comm failed with this message because no neighbour answered to ARP or neighbour
// discovery, a router reported that it has no route, or the rail has none.
[[nodiscard]] bool says_unreachable(std::string_view error);

// --- The checks of which examine() consists: each reads the host and adds what it finds ---

using diagnosis::Findings;

// One rail, by its kind.
using RailCheck = void(const diagnosis::Host& host, const config::Config& config, const config::Rail& rail,
                       Findings& findings);
RailCheck check_pci_rail, check_af_packet_rail, check_af_xdp_rail, check_tap_rail, check_kernel_rail;
// A Unix socket: `memif` with a device, `virtio_user` and `vhost`. Looks at the file only, because a client
// that connects to a memif socket and disconnects ends the process that serves it.
RailCheck check_socket_rail;

// Whether the kernel has one of the rail's addresses: it would reset connections of which it knows nothing.
void check_addresses(const diagnosis::Host& host, const config::Rail& rail, Findings& findings);

// What NCCL is shown as the rail's speed, if that is not known beforehand.
void check_speed(const config::Rail& rail, Findings& findings);

// What this process is refused and DPDK needs: descriptors, memory files, the CPUs' files in /sys.
void check_process(const config::Config& config, Findings& findings);

// Whether the kernel has the module vfio-pci, if a rail needs it.
void check_vfio_modules(const diagnosis::Host& host, const config::Tcp& config, Findings& findings);

// Whether processes can share the rails out, and another process has one of them.
void check_leases(const diagnosis::Host& host, const config::Config& config, Findings& findings);
// Returns which rails a process of this configuration needs and others have; nothing: it can have its rails.
[[nodiscard]] std::optional<std::string> why_rails_are_taken(const config::Config& config,
                                                             const diagnosis::Host& host);
// Returns the process that has the rail now, in any folder that the configuration allows.
[[nodiscard]] std::optional<pid_t> holder_of(const diagnosis::Host& host, const config::LockFolder& folder,
                                             const config::Rail& rail);

// Whether DPDK has enough devices and queues for the rails of a process.
void check_limits(const config::Config& config, Findings& findings);

// The memory that the rails of a process need: hugepages or ordinary memory, and the process's limits.
void check_memory(const diagnosis::Host& host, const config::Config& config, Findings& findings);

}  // namespace tfabric::rails
