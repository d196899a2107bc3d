// The TCP ports of an interface's queues, where several processes have parts of it (docs/rails.md).
//
// Those of tcp.local_ports are shared out evenly among all its queues, so that whoever steers what comes in,
// a NIC by its rules, knows the queue by the destination's port.
#pragma once

#include <cstdint>

#include "base/result.h"
#include "config/config.h"

namespace tfabric::tcp {

// `all`: tcp.local_ports; `channels`: how many queues the interface has, `queues` among them.
[[nodiscard]] config::PortRange ports_of(const config::PortRange& all, const config::QueueRange& queues,
                                         std::uint32_t channels);

// tcp.local_ports of a process with these rails. Errc::unusable: its rails have different ones.
[[nodiscard]] Result<config::PortRange> ports_of(const config::Tcp& process);

}  // namespace tfabric::tcp
