#include "tests/simulation/rails/world.h"

#include <algorithm>
#include <stdexcept>

#include "tests/simulation/rails/virtual_host.h"
#include "transport/tcp/nic/pools.h"

namespace tfabric::simulation::rails {

std::shared_ptr<rte_mempool> packet_pool() {
  static const auto pool = nic::make_receive_pool("rails", 8192, 9000, -1);
  if (!pool) {
    throw std::runtime_error(pool.error().message);
  }
  return *pool;
}

World::World(const Scenario& scenario)
    : scenario_(scenario), begin_(Instant(std::chrono::hours(1))), network_(scenario.seed) {
  set_virtual_time(begin_);
  seed_kernel_random(scenario.seed);
  for (std::size_t i = 0; i < kHosts; ++i) {
    hosts_[i] = std::make_unique<Host>(network_, HostOptions{.number = i,
                                                             .cables = scenario.cables,
                                                             .mtu = scenario.mtu,
                                                             .congestion = scenario.congestion,
                                                             .tcp = scenario.tcp,
                                                             .comm = scenario.comm,
                                                             .pool = packet_pool()});
  }
  for (const JobOptions& job : scenario.jobs) {
    // One at a time, since a host cannot say to which job a comm that comes in belongs.
    jobs_.push_back(std::make_unique<Job>(job, *hosts_.at(job.from), *hosts_.at(job.to)));
    if (!run_until([&] { return jobs_.back()->opened(); }, std::chrono::seconds(20))) {
      throw std::runtime_error("a comm cannot be opened");
    }
  }
  std::ranges::for_each(jobs_, [](const auto& job) { job->start(); });
}

Instant World::now() const { return virtual_now(); }

bool World::run_until(const std::function<bool()>& done, Duration limit) {
  while (!done()) {
    if (passed() > limit) {
      return false;
    }
    apply_faults();
    next_step_ = kNever;
    for (std::size_t i = 0; i < kHosts; ++i) {
      if (!frozen_[i]) {
        step_jobs(i);
        hosts_[i]->turn();
      }
    }
    set_virtual_time(std::max(next_event(), now() + std::chrono::nanoseconds(100)));
  }
  return true;
}

void World::step_jobs(std::size_t host) {
  for (const auto& job : jobs_) {
    const Instant next = job->sends_from() == host ? job->step_sender() : job->step_receiver();
    next_step_ = std::min(next_step_, next);
  }
}

Instant World::next_event() const {
  Instant next = std::min(next_fault_, std::max(next_step_, now() + std::chrono::microseconds(1)));
  for (std::size_t i = 0; i < kHosts; ++i) {
    if (!frozen_[i]) {
      const Instant earliest = hosts_[i]->earliest_turn();
      next = std::min({next, hosts_[i]->next_turn(), std::max(earliest, hosts_[i]->next_arrival())});
    }
  }
  return next;
}

// What is wrong with a rail is the sum of its faults.
void World::apply_faults() {
  if (now() < next_fault_) {
    return;
  }
  next_fault_ = kNever;
  std::array<std::vector<Damage>, kHosts> damages;
  std::ranges::for_each(damages, [&](auto& rails) { rails.resize(scenario_.cables.size()); });
  frozen_.fill(false);
  const Duration time = now() - faults_begin_;
  for (const Fault& fault : scenario_.faults) {
    const Duration change = time < fault.at ? fault.at : fault.until;
    if (time < fault.until) {
      next_fault_ = std::min(next_fault_, faults_begin_ + change);
    }
    if (time < fault.at || time >= fault.until) {
      continue;
    }
    frozen_[fault.host] = frozen_[fault.host] || fault.frozen;
    Damage& sum = damages[fault.host][fault.rail];
    sum.no_link |= fault.damage.no_link;
    sum.silent_in |= fault.damage.silent_in;
    sum.silent_out |= fault.damage.silent_out;
    sum.loss = std::max(sum.loss, fault.damage.loss);
    sum.rate = fault.damage.rate != 0 ? fault.damage.rate : sum.rate;
  }
  for (std::size_t i = 0; i < kHosts; ++i) {
    for (std::size_t rail = 0; rail < scenario_.cables.size(); ++rail) {
      network_.damage(hosts_[i]->first_nic() + rail, damages[i][rail]);
    }
  }
}

}  // namespace tfabric::simulation::rails
