// The rails of this host, as `tfabric check --peer` tries them: each by itself.
//
// A rail that does not work keeps no other from being tried, and nothing stands in for it: a trial that
// another rail carried would call it fine.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "base/result.h"
#include "config/config.h"
#include "tools/check/check.h"
#include "tools/check/peer/messages.h"
#include "transport/transport.h"

namespace tfabric::check {

struct TrialRails {
  std::unique_ptr<transport::Transport> transport;
  // One for each rail of the offer; null: it is left out. They belong to the transport.
  std::vector<transport::Device*> devices;
  std::vector<LeftOut> left_out;
};

// Returns the finding that such a fault of a rail is.
[[nodiscard]] Id id_of(transport::RailFault::Kind kind);

// Returns true if errors were found, and all of them are about single rails beside which there are others.
[[nodiscard]] bool only_rails_are_faulty(const config::Config& config, const Findings& findings);

// Opens the rails of which no fault is known yet. One that cannot be opened becomes a finding, and is left
// out. An Error, which is a finding, too: there is none to try.
Result<TrialRails> open_trial_rails(const config::Config& config, Findings& findings);

// Tries the network of each open rail, as a job would, and leaves out those that do not answer.
void probe_rails(const config::Config& config, TrialRails& rails, Findings& findings);

}  // namespace tfabric::check
