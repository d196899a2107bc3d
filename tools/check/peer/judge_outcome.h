// What the outcome of a trial means, and how it is fixed.
#pragma once

#include <chrono>

#include "tools/check/finding.h"
#include "tools/check/peer/offer.h"
#include "tools/check/peer/trial.h"

namespace tfabric::check {

// The least retransmission time-out of trials. The stack supposes a black hole after three of a large
// segment's in a row, 3.5 s, which loss without one hardly takes.
inline constexpr std::chrono::milliseconds kTrialRto{500};

void judge_outcome(const OfferedRail& from, const OfferedRail& to, const Outcome& outcome,
                   Findings& findings);

}  // namespace tfabric::check
