#include "transport/engine/fault_schedule.h"

#include <algorithm>

namespace tfabric::engine {
namespace {

void add(const config::Fault& fault, FaultEffect& effect) {
  switch (fault.kind) {
    case config::FaultKind::down:
      effect.no_link = effect.nothing_in = effect.nothing_out = true;
      break;
    case config::FaultKind::silent:
      effect.nothing_in = effect.nothing_out = true;
      break;
    case config::FaultKind::silent_in:
      effect.nothing_in = true;
      break;
    case config::FaultKind::silent_out:
      effect.nothing_out = true;
      break;
    case config::FaultKind::loss:
      effect.loss = 1 - (1 - effect.loss) * (1 - fault.loss);
      break;
    case config::FaultKind::rate:
      effect.rate = effect.rate == 0 ? fault.rate : std::min(effect.rate, fault.rate);
      break;
    case config::FaultKind::delay:
      effect.delay += fault.delay;
      break;
    case config::FaultKind::driver_stall:
      effect.driver_stalls = true;
      break;
    case config::FaultKind::freeze:
      effect.frozen = true;
      break;
  }
}

}  // namespace

std::uint64_t turns_of(const config::Fault& fault, Duration since_opening) {
  if (since_opening < fault.start) {
    return 0;
  }
  const Duration since_start = since_opening - fault.start;
  if (fault.period == Duration::zero()) {
    return since_start < fault.lasts ? 1 : 2;
  }
  const auto periods = static_cast<std::uint64_t>(since_start / fault.period);
  return 2 * periods + (since_start % fault.period < fault.lasts ? 1 : 2);
}

void take_part(const config::Fault& fault, Duration since_opening, FaultEffect& effect) {
  if (turns_of(fault, since_opening) % 2 == 1) {
    add(fault, effect);
  }
}

FaultEffect effect_of(std::span<const config::Fault> faults, Duration since_opening) {
  FaultEffect effect;
  for (const config::Fault& fault : faults) {
    take_part(fault, since_opening, effect);
  }
  return effect;
}

}  // namespace tfabric::engine
