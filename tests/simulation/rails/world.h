// Two hosts, their network and their jobs, in virtual time.
#pragma once

#include <array>
#include <functional>
#include <memory>
#include <vector>

#include "tests/simulation/rails/scenario.h"

namespace tfabric::simulation::rails {

// Of all worlds of the process: making a pool takes longer than most runs.
[[nodiscard]] std::shared_ptr<rte_mempool> packet_pool();

class World {
 public:
  explicit World(const Scenario& scenario);
  World(const World&) = delete;
  World& operator=(const World&) = delete;

  // Runs until `done` or until that much time has passed since the beginning. Returns false if it has.
  bool run_until(const std::function<bool()>& done, Duration limit);
  // The faults' times count from now on.
  void begin_faults() { faults_begin_ = next_fault_ = now(); }
  [[nodiscard]] Instant now() const;
  [[nodiscard]] Duration passed() const { return now() - begin_; }

  [[nodiscard]] Host& host(std::size_t number) { return *hosts_.at(number); }
  [[nodiscard]] Network& network() { return network_; }
  [[nodiscard]] std::vector<std::unique_ptr<Job>>& jobs() { return jobs_; }

 private:
  void apply_faults();
  void step_jobs(std::size_t host);
  [[nodiscard]] Instant next_event() const;

  Scenario scenario_;
  Instant begin_;
  Instant faults_begin_ = kNever;
  Network network_;
  std::array<std::unique_ptr<Host>, kHosts> hosts_;
  std::array<bool, kHosts> frozen_{};
  std::vector<std::unique_ptr<Job>> jobs_;
  Instant next_fault_ = kNever;
  Instant next_step_ = kNever;  // of a job
};

}  // namespace tfabric::simulation::rails
