// What a process is going to open, computed before it opens anything. Needs no EAL.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"
#include "config/config.h"
#include "transport/tcp/engine/engine.h"
#include "transport/tcp/engine/progress.h"
#include "transport/tcp/nic/eal.h"
#include "transport/tcp/rails/preflight.h"
#include "transport/transport.h"

namespace tfabric::tcp {

// A device that NCCL is shown. All processes of a host show the same devices, whichever rails they have.
struct DevicePlan {
  // Those of the rails that the device stands for. The speed lacks the rails whose drivers report it once
  // they are open.
  transport::DeviceProperties properties;
  std::uint32_t rails_of_unknown_speed = 0;
  // The rails that carry its traffic, as positions in RailPlan::own: those of the device's rails that this
  // process has or, if it has none of them, another one.
  std::vector<std::size_t> rails;
};

struct RailPlan {
  // The configuration, but with the rails of this process alone, and with its part of tcp.local_ports.
  config::Config own;
  bool dpdk = true;  // DPDK carries one of the rails
  nic::EalOptions eal;
  engine::EngineOptions engine;  // of every engine, but for number and ports
  std::vector<DevicePlan> devices;
  // For the log.
  std::string rails;   // "rail(s) eth1 (pci 0000:00:10.0), 1 of 2"
  std::string memory;  // which memory DPDK takes; empty without DPDK
};

// Checks the rails against what is visible on the host, leases this process's share of them, and plans their
// use. Errc::unusable, with the reason and its fix, if the rails cannot be used.
Result<RailPlan> plan_rails(const config::Config& config, const HostView& host);

// The same for a process that has the rails with the numbers `used` in `config`, in ascending order.
Result<RailPlan> plan_of(const config::Config& config, const std::vector<std::size_t>& used,
                         const HostView& host);

// What NCCL is shown of a device. `driver_speed_mbps`: what the drivers of this process's rails report, at
// most; 0: nothing. The rails that it does not have are taken to be as fast.
[[nodiscard]] transport::DeviceProperties shown_properties(const DevicePlan& device,
                                                           std::uint32_t driver_speed_mbps);

// How the engines are turned: as configured or, if that is "auto", as suits the CPUs that the process may run
// on.
[[nodiscard]] engine::ProgressMode progress_mode(const config::Engine& config, std::uint32_t engines,
                                                 int cpus);

}  // namespace tfabric::tcp
