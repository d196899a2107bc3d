// Whether the kernel's TCP may take the place of NCCL's own network on a host where nothing is configured.
//
// tfabric and NCCL's own network do not understand each other, so all hosts of a job must come to the same
// answer: what is asked is the same on all hosts of one kind. Pure but for unconfigured().
#pragma once

#include <span>
#include <string>
#include <vector>

#include "config/config.h"
#include "host/interfaces.h"
#include "host/sysfs.h"

namespace tfabric::transport {

// The NCCL that calls. 0: unknown, as in the tools.
struct Caller {
  int table = 0;
  int version = 0;  // as ncclGetVersion() says it: 22809 is 2.28.9
};

// What decides.
struct Unconfigured {
  std::vector<std::string> rdma_devices;  // of InfiniBand and RoCE, whether or not they work
  std::vector<std::string>
      settings;  // NCCL's variables that choose a network, but for tfabric, or tune its own
  // Of the interfaces that the kernel's TCP would use, those for which NCCL's Socket takes several sockets or
  // threads by itself.
  std::vector<std::string> tuned_interfaces;
  std::vector<std::string> interfaces;  // that the kernel's TCP would use
  Caller caller;
};

// Looks at this host. `addresses`: the host's; `environment`: all variables of the process.
[[nodiscard]] Unconfigured unconfigured(const config::Config& config, const host::Sysfs& sysfs,
                                        std::span<const host::LocalAddress> addresses,
                                        const config::Environment& environment, const Caller& caller);

// Returns why NCCL's own network is left its place; empty: `auto+kernel` may take it.
[[nodiscard]] std::string why_nccls_own(const Unconfigured& host);

// What the user of such a host can do, as the end of a message that says that nothing is configured.
[[nodiscard]] std::string what_instead(const Unconfigured& host);

}  // namespace tfabric::transport
