// What all processes of a host can see of its rails before any rail is opened.
//
// Each process looks at all rails, not at its own alone, so that all come to the same conclusion: NCCL's
// ranks must all use one network.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "config/config.h"
#include "host/interfaces.h"
#include "host/limits.h"
#include "host/sysfs.h"
#include "transport/transport.h"

namespace tfabric::rails {

struct HostView {
  host::Sysfs sysfs;
  std::vector<host::Interface> interfaces;
  std::vector<host::LocalAddress> addresses;  // the kernel's
  host::KernelPorts ports;
  std::string root;  // stands before /sys and /proc where memory is looked for; tests set their own
};

[[nodiscard]] HostView view_of_host();
// Returns the first fault, with its fix. An interface that is missing is no fault: it may be in another
// network namespace, as the rail of a process there.
// NICs that are missing and links are another matter (check_links).
[[nodiscard]] Status check_rails(const config::Tcp& config, const HostView& host);
// Returns the fault of the rail with this name; null: it has none.
[[nodiscard]] const transport::RailFault* find_fault(const std::string& rail,
                                                     std::span<const transport::RailFault> faults);
// Returns the rails whose NIC is missing, or not bound to a driver for DPDK.
[[nodiscard]] std::vector<transport::RailFault> missing_nics(const config::Tcp& config, const HostView& host);
// Returns the first rail that has no link, or is among `missing`, if the process cannot start without it:
// there is no life-boat, or tfabric is required, and not each device has another rail.
[[nodiscard]] Status check_links(const config::Config& config, std::span<const host::Interface> interfaces,
                                 const std::vector<host::LocalAddress>& addresses,
                                 std::span<const transport::RailFault> missing = {});

struct InterfaceFault {
  std::string what;
  std::string fix;
};

// A rail over an interface of the kernel's that is not a kernel rail makes the interface's frames itself.
[[nodiscard]] std::optional<InterfaceFault> ethernet_fault(const host::Interface& interface,
                                                           const config::Rail& rail);

// --- what an af_xdp rail needs of its interface, beyond being up and having a link

// Frames of the interface's MTU must fit into a packet buffer.
[[nodiscard]] std::optional<InterfaceFault> af_xdp_mtu_fault(const host::Interface& interface);
// Each receive queue of the interface, or of the rail's subset, must have an engine: frames that arrive by
// another queue go to the kernel, and the rail never sees them.
[[nodiscard]] std::optional<InterfaceFault> af_xdp_queue_fault(const host::Interface& interface,
                                                               const config::Rail& rail,
                                                               std::uint32_t engines);

// A rail with a queue subset must have its addresses from the kernel.
[[nodiscard]] std::optional<InterfaceFault> af_xdp_address_fault(
    const config::Rail& rail, std::span<const host::LocalAddress> addresses);
// The kernel must not give any of these ports to its own connections, whose segments would come to the rail.
[[nodiscard]] std::optional<InterfaceFault> af_xdp_port_fault(const config::PortRange& ports,
                                                              const host::KernelPorts& kernel);

}  // namespace tfabric::rails
