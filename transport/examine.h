// What is wrong on this host, and worth knowing, of all transports of this build: for `tfabric check`, which
// knows no transport by name. The plugin does not link it.
#pragma once

#include <cstddef>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"
#include "config/config.h"
#include "transport/diagnosis/diagnosis.h"
#include "transport/diagnosis/host.h"
#include "transport/transport.h"

namespace tfabric::transport {

// Examines RDMA. `chosen`: NCCL gets it if it is usable.
using ExamineRdma = std::function<diagnosis::Diagnosis(const config::Config& config,
                                                       const diagnosis::Host& host, bool chosen)>;

// Examines the transports among which open() chooses. Reads only: no rail is opened, and RDMA devices only to
// query them. If tfabric is not usable, the first error is the one that matters most.
[[nodiscard]] diagnosis::Findings examine(const config::Config& config, const diagnosis::Host& host);
// The same with another examination of RDMA, for tests that show devices which the host does not have.
[[nodiscard]] diagnosis::Findings examine_with(const config::Config& config, const diagnosis::Host& host,
                                               const ExamineRdma& examine_rdma);

// Returns the configuration with the rails that this host has for it, as open() would use it (registry.h).
[[nodiscard]] config::Config with_rails_of(config::Config config, const diagnosis::Host& host);

// Returns the rails that a process which starts now uses, of those of the configuration, all of which are
// free: "the rail(s) eni0, eni1", "1 of the rail(s) eni0, eni1", and why it is not all of them.
[[nodiscard]] std::string rails_of_process(const config::Config& config);

// Returns how peers reach the devices of an open transport that has one device for each rail.
[[nodiscard]] std::vector<diagnosis::RailNetwork> rail_networks(const config::Config& config,
                                                                const Transport& transport);

// Returns which rails of two hosts meet, one to one, as positions. `network`: the transport's name.
[[nodiscard]] std::vector<std::pair<std::size_t, std::size_t>> meeting_rails(
    const std::string& network, std::span<const diagnosis::RailNetwork> ours,
    std::span<const diagnosis::RailNetwork> theirs);

// Returns why a job cannot have its rails now: other processes have them. Waits for those that are about to
// end.
[[nodiscard]] Status await_rails(const config::Config& config, const diagnosis::Host& host);

// Returns true if a comm failed with this message because no neighbour answered, or no router knows the way.
[[nodiscard]] bool says_unreachable(std::string_view error);

}  // namespace tfabric::transport
