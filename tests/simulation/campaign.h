// Many seeds of the machine's simulation (seeds.h), and what their scenarios have promised.
#pragma once

#include <chrono>
#include <cstdint>

#include "tests/simulation/run.h"
#include "tests/simulation/switched_off.h"

namespace tfabric::simulation {

struct CampaignOptions {
  std::uint64_t first = 1, last = 1;  // both included
  unsigned jobs = 1;
  Mechanism off = Mechanism::none;
  std::chrono::seconds progress{10};  // between two lines on stderr
  std::chrono::seconds hang{
      300};  // processor time; a seed that takes more is a failure, and its process is killed
  Report (*run)(const Scenario&, Observer*) = &simulation::run;
};

struct CampaignResult {
  std::uint64_t runs = 0, failures = 0, packets = 0, bytes = 0;
  // How many scenarios make these promises; all make the others.
  std::uint64_t succeed = 0, recover = 0, fair = 0, no_spurious_timeouts = 0;
  Duration virtual_time{};
  std::chrono::duration<double> took{};
};

// Prints each failing seed to stdout, with the way to repeat it, and progress to stderr.
[[nodiscard]] CampaignResult run_campaign(const CampaignOptions& options);

}  // namespace tfabric::simulation
