// When the faults of a rehearsal are there, and what they do together. Pure: time is an argument.
#pragma once

#include <cstdint>
#include <span>

#include "base/time.h"
#include "config/fault.h"

namespace tfabric::engine {

// Returns how many times the fault has begun or ended, this long after its rail was opened: it is there if
// the number is odd.
[[nodiscard]] std::uint64_t turns_of(const config::Fault& fault, Duration since_opening);

// What a link does to packets at a moment.
struct FaultEffect {
  bool no_link = false;
  bool nothing_in = false, nothing_out = false;
  double loss = 0;         // the share of packets, in each direction
  std::uint64_t rate = 0;  // bit/s; 0: no limit
  Duration delay{};        // of what goes out
  bool driver_stalls = false;
  bool frozen = false;  // of the process as a whole

  friend bool operator==(const FaultEffect&, const FaultEffect&) = default;
};

// Adds what the fault does at that time, if it is there.
void take_part(const config::Fault& fault, Duration since_opening, FaultEffect& effect);
// Returns the effect of all faults together: losses add up as of independent causes, delays as of one way
// after the other, and the lowest rate counts.
[[nodiscard]] FaultEffect effect_of(std::span<const config::Fault> faults, Duration since_opening);

}  // namespace tfabric::engine
