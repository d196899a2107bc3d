// Runs a scenario to its end in virtual time, and checks what must hold:
//
// - what job.h checks of messages and buffers;
// - while a rail comes back before the outage is over, no comm fails, and all is done soon after the last
//   fault has ended;
// - where no rail comes back, both ends fail soon after the outage;
// - where only hosts stand still, and cables lose a packet in a hundred, no lane is given up;
// - in the end all packet buffers are free, and no connection is left.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "tests/simulation/rails/scenario.h"

namespace tfabric::simulation::rails {

struct Report {
  std::optional<std::string> failure;  // the first property that does not hold
  Duration took{};                     // virtual time
  std::uint64_t packets = 0, bytes = 0, buried = 0, dealt_again = 0;
  std::uint64_t digest = 0;  // of the run: the same each time
};

// EAL must be running.
[[nodiscard]] Report run(const Scenario& scenario);

}  // namespace tfabric::simulation::rails
