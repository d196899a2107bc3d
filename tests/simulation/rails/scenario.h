// What a simulation of rails runs: two hosts, their cables, what jobs send, and what goes wrong when.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "tests/simulation/rails/host.h"
#include "tests/simulation/rails/job.h"
#include "tests/simulation/rails/network.h"

namespace tfabric::simulation::rails {

inline constexpr std::size_t kHosts = 2;

// From `at` until `until`, after the jobs' comms are open.
struct Fault {
  Duration at{}, until{};
  std::size_t host = 0;
  std::size_t rail = 0;
  bool frozen = false;  // the host's process does not run; rail and damage mean nothing
  Damage damage;
};

struct Scenario {
  std::uint64_t seed = 0;
  std::uint16_t mtu = 1500;
  stack::CongestionAlgorithm congestion = stack::CongestionAlgorithm::cubic;
  std::vector<CableOptions> cables;  // of the rails, the same at both hosts
  stack::Options tcp;
  comm::CommOptions comm;
  std::vector<JobOptions> jobs;
  Duration busy{};  // about how long the jobs have something to send, and when faults begin
  std::vector<Fault> faults;
  // No rail ever comes back: all comms must fail, in time.
  bool hopeless = false;
  // Cables lose one packet in a hundred at most, and only hosts stand still: no lane may be given up.
  bool sound = false;
};

[[nodiscard]] Scenario draw_scenario(std::uint64_t seed);
// For people, one line a fault.
[[nodiscard]] std::string to_text(const Scenario& scenario);

}  // namespace tfabric::simulation::rails
