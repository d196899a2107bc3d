// Whether the NICs of a configuration work, for `tfabric check` and `tfabric setup`. What a driver refuses,
// and whether a network answers, is known only once a NIC is open; so this opens them as a job does, and
// closes them again. The plugin does not link it.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "config/config.h"
#include "transport/diagnosis/host.h"
#include "transport/transport.h"

namespace tfabric::transport {

struct NicTrial {
  std::vector<RailFault> faults;  // at most one for each rail
  std::string said;               // which NICs were opened, and what their networks answered
};

// Returns a configuration for trials: one engine has all rails, whatever share of them a rank has, with
// ordinary memory where hugepages are too few, and opens them without probing them. The caller asks for
// what is wrong (Transport::probe).
[[nodiscard]] config::Config with_all_rails(config::Config config);

// Returns true if jobs with this configuration use NICs that belong to their process alone (rails of the kind
// pci). Other kinds are not tried: their files and interfaces are looked at without opening them, and an
// interface that is shared with the kernel would be disturbed.
[[nodiscard]] bool has_nics(const config::Config& config);

// Returns which process has one of them, for messages; empty: none. They cannot be tried then.
[[nodiscard]] std::string user_of_nics(const config::Config& config, const diagnosis::Host& host);

// Opens all of them, whatever share of them a rank has, and lets each ask for its gateway and for other hosts
// with its addresses. Takes a fraction of a second, or ten where something does not answer; a job that starts
// meanwhile finds the NICs taken. Errors: a job would not use tfabric.
[[nodiscard]] Result<NicTrial> try_nics(const config::Config& config);

}  // namespace tfabric::transport
