// What an interface of the kernel's must be like for an af_xdp rail, beyond being up and having a link.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "config/config.h"
#include "host/interfaces.h"
#include "host/limits.h"

namespace tfabric::tcp {

struct InterfaceFault {
  std::string what;
  std::string fix;
};

// Frames that it may receive fit into a packet buffer.
[[nodiscard]] std::optional<InterfaceFault> af_xdp_mtu_fault(const host::Interface& interface);
// All of its receive queues, or all of the rail's part, are an engine's: what comes in by another goes to the
// kernel, and is lost to us.
[[nodiscard]] std::optional<InterfaceFault> af_xdp_queue_fault(const host::Interface& interface,
                                                               const config::Rail& rail,
                                                               std::uint32_t engines);

// Of a part of an interface: it has the rail's addresses from the kernel.
[[nodiscard]] std::optional<InterfaceFault> af_xdp_address_fault(
    const config::Rail& rail, std::span<const host::LocalAddress> addresses);
// The kernel gives none of the ports to connections of its own, whose segments would come to the rail.
[[nodiscard]] std::optional<InterfaceFault> af_xdp_port_fault(const config::PortRange& ports,
                                                              const host::KernelPorts& kernel);

}  // namespace tfabric::tcp
