#include "tests/simulation/rails/run.h"

#include <fmt/format.h>

#include <algorithm>
#include <stdexcept>

#include "tests/simulation/rails/world.h"
#include "transport/tcp/nic/growing_pool.h"
#include "transport/tcp/nic/pools.h"

namespace tfabric::simulation::rails {
namespace {

using namespace std::chrono_literals;

// From the end of the last fault until all messages have arrived: some dials (SendRoute::back_off), or a
// retransmission at the longest time-out.
constexpr Duration kRecovery = 10s;
// From the end of an outage until both ends have failed. It may last as long again as comms are patient, for
// a connection to be made (CommCore::outage_over).
constexpr Duration kGivingUp = 1s;

Duration end_of(const std::vector<Fault>& faults) {
  Duration end{};
  for (const Fault& fault : faults) {
    end = std::max(end, fault.until);
  }
  return end;
}

unsigned buffers_in_use() {
  return nic::in_use(packet_pool().get()) + nic::in_use(*nic::header_pool()) +
         nic::in_use(*nic::external_pool());
}

std::optional<std::string> fault_of(const Scenario& scenario, World& world, bool in_time) {
  for (std::size_t i = 0; i < world.jobs().size(); ++i) {
    const Job& job = *world.jobs()[i];
    if (job.fault()) {
      return fmt::format("comm {}: {}", i, *job.fault());
    }
    if (job.error() && !scenario.hopeless) {
      return fmt::format("comm {} has failed: {}", i, *job.error());
    }
    if (!in_time) {
      return fmt::format("comm {} has {} messages, and is not over after {} ms", i, job.received(),
                         world.passed() / 1ms);
    }
    if (scenario.sound && job.sender().counters().buried != 0) {
      return fmt::format("comm {} has given up {} lanes, and only hosts stood still, or packets were lost", i,
                         job.sender().counters().buried);
    }
  }
  return std::nullopt;
}

void fill(Report& report, World& world) {
  report.took = world.passed();
  report.packets = world.network().packets();
  for (const auto& job : world.jobs()) {
    report.bytes += job->received_bytes();
    report.buried += job->sender().counters().buried;
    report.dealt_again += job->sender().dealt_again();
  }
  for (const std::uint64_t part : {report.packets, report.bytes, report.buried, report.dealt_again,
                                   static_cast<std::uint64_t>(report.took.count())}) {
    report.digest = report.digest * 1'099'511'628'211u + part;
  }
}

void run_world(const Scenario& scenario, Report& report) {
  World world(scenario);
  world.begin_faults();
  const Duration limit = world.passed() + (scenario.hopeless ? 2 * scenario.comm.outage + kGivingUp
                                                             : end_of(scenario.faults) + kRecovery);
  const bool in_time = world.run_until(
      [&] {
        return std::ranges::all_of(world.jobs(), [](const auto& job) { return job->over() || job->fault(); });
      },
      limit);
  report.failure = fault_of(scenario, world, in_time);
  fill(report, world);
  for (const auto& job : world.jobs()) {
    job->close();
  }
  const bool ended = world.run_until(
      [&] { return !world.host(0).engine().owes_peers() && !world.host(1).engine().owes_peers(); },
      world.passed() + end_of(scenario.faults) + 30s);
  for (const auto& job : world.jobs()) {
    job->look_at_buffers();
    if (!report.failure) {
      report.failure = job->fault();
    }
  }
  if (!report.failure && !ended && !scenario.hopeless) {
    report.failure = "a connection that was closed does not end";
  }
}

}  // namespace

Report run(const Scenario& scenario) {
  Report report;
  try {
    const unsigned before = buffers_in_use();
    run_world(scenario, report);
    if (const unsigned after = buffers_in_use(); !report.failure && after != before) {
      report.failure = fmt::format("{} packet buffers were in use before, and {} after", before, after);
    }
  } catch (const std::runtime_error& error) {
    report.failure = error.what();
  }
  return report;
}

}  // namespace tfabric::simulation::rails
