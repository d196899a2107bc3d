// The rails of TCP that a process has beside RDMA's ports: those of our own TCP, which stand in for the
// ports, and those of the kernel's, of which each comm has a lane always.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"
#include "config/config.h"
#include "host/interfaces.h"
#include "transport/device/device.h"
#include "transport/device/engines.h"
#include "transport/rails/rail_plan.h"

namespace tfabric::device {

// Plans them, and starts EAL if it is needed. Without rails of our own TCP everything works but for the loss
// of all ports: what they lack is a warning. Errc::unusable if the kernel has none for comms to meet.
Result<rails::RailPlan> plan_rails_beside(const config::Config& config,
                                          const std::vector<host::LocalAddress>& addresses);

// How many engines the process has: one for each device. But each takes a queue of each rail of our own TCP,
// and buffers for its packets: with such rails there are as many as are configured.
[[nodiscard]] std::uint16_t engines_beside(std::size_t devices, const rails::RailPlan& plan);

// Opens them for all engines. Fails if no rail of the kernel's can be opened.
Status open_rails_beside(Engines& engines, const rails::RailPlan& plan);

// Those of an engine, in the order of a handle, which has room for some only.
[[nodiscard]] std::vector<DeviceRail> rails_beside(const Engines::Unit& unit);

// "beside it eth0; inline progress; in reserve TCP over DPDK, rail(s) …"
[[nodiscard]] std::string describe_rails_beside(const Engines& engines, const rails::RailPlan& plan);

}  // namespace tfabric::device
