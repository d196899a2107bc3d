// What a process is going to open, computed before it opens anything. Needs no EAL.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"
#include "config/config.h"
#include "transport/engine/progress.h"
#include "transport/rails/device_plan.h"
#include "transport/rails/preflight.h"
#include "transport/tcp/link/options.h"
#include "transport/tcp/nic/eal.h"

namespace tfabric::rails {

struct RailPlan {
  // The configuration, but with the rails of this process alone, and with its part of tcp.local_ports.
  config::Config own;
  bool dpdk = true;  // DPDK carries one of the rails
  // Interfaces of the kernel's, of which the first that can be opened is used in addition to the rails of
  // `own`, which may name some themselves.
  std::vector<config::Rail> lifeboats;
  nic::EalOptions eal;
  link::Options tcp;  // of every engine, but for the ports
  std::vector<DevicePlan> devices;
  // Those of the rails that cannot be opened, and without which the process starts.
  std::vector<transport::RailFault> missing;
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

// For a process whose devices are RDMA's ports: the rails of `own` stand in for these, and comms have one of
// the kernel's beside them (RailPlan::lifeboats), whether the configuration names some or not. A process that
// cannot have the rails goes without them.
Result<RailPlan> plan_beside(const config::Config& config, const HostView& host);
// The same without the rails of `own`; a warning says why.
Result<RailPlan> plan_without_stand_ins(const config::Config& config, const HostView& host, const Error& why);

// How the engines are turned: as configured or, if that is "auto", as suits the CPUs that the process may run
// on.
[[nodiscard]] engine::ProgressMode progress_mode(const config::Engine& config, std::uint32_t engines,
                                                 int cpus);

}  // namespace tfabric::rails
