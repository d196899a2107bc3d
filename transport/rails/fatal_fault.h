// Which of the faults that were found when the rails were opened and probed (rail_probe.h) keep a process
// from starting.
#pragma once

#include <optional>
#include <span>

#include "base/result.h"
#include "transport/rails/rail_plan.h"
#include "transport/transport.h"

namespace tfabric::rails {

// Returns the fault to step aside for, with its fix; nothing if each device has a rail that works, its own or
// one that protects it. An address that another host has is always such a fault: using it would break that
// host's traffic. With `required`, a job must not become slow silently: each device needs a rail of its own.
[[nodiscard]] std::optional<Error> fatal_fault(const RailPlan& plan,
                                               std::span<const transport::RailFault> faults);

}  // namespace tfabric::rails
