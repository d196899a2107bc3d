// What an interface of the kernel's must be like for an af_xdp rail, beyond being up and having a link.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "host/interfaces.h"

namespace tfabric::tcp {

struct InterfaceFault {
  std::string what;
  std::string mend;
};

// Frames that it may receive fit into a packet buffer.
[[nodiscard]] std::optional<InterfaceFault> af_xdp_mtu_fault(const host::Interface& interface);
// All of its receive queues are an engine's: what comes in by another goes to the kernel, and is lost to us.
[[nodiscard]] std::optional<InterfaceFault> af_xdp_queue_fault(const host::Interface& interface,
                                                               std::uint32_t engines);

}  // namespace tfabric::tcp
