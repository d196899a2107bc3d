#include "tests/simulation/rails/scenario.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

namespace tfabric::simulation::rails {
namespace {

using namespace std::chrono_literals;

constexpr std::size_t kMostRails = 4;
// Faults begin and end within this, so that an outage of this length must be survived.
constexpr Duration kTroubled = 3s;

std::vector<CableOptions> draw_cables(SeededRandom& random) {
  CableOptions common;
  common.delay = random.between(Duration(2us), Duration(200us));
  common.rate = random.chance(0.5) ? 10'000'000'000 : 1'000'000'000;
  common.queue = random.between(Duration(200us), Duration(2ms));
  common.loss = random.chance(0.15) ? 0.005 : 0;
  std::vector<CableOptions> cables(random.between(std::uint64_t{1}, kMostRails), common);
  for (CableOptions& cable : cables) {
    if (random.chance(0.2)) {
      cable.rate /= random.between(std::uint64_t{2}, 5u);
    }
    if (random.chance(0.2)) {
      cable.delay *= 3;
    }
  }
  return cables;
}

std::vector<std::uint32_t> draw_messages(SeededRandom& random) {
  std::vector<std::uint32_t> messages(random.between(std::uint64_t{3}, 40u));
  const bool large = random.chance(0.4);
  for (std::uint32_t& bytes : messages) {
    const bool small = random.chance(large ? 0.3 : 0.8);
    bytes = static_cast<std::uint32_t>(random.between(std::uint64_t{0}, small ? 16'500u : 120'000u));
  }
  return messages;
}

JobOptions draw_job(SeededRandom& random, const Scenario& scenario) {
  JobOptions job;
  job.from = random.chance(0.5) ? 1 : 0;
  job.to = 1 - job.from;
  job.messages = draw_messages(random);
  job.depth = random.between(std::uint64_t{1}, 12u);
  job.latest = random.chance(0.5) ? random.between(Duration(1us), Duration(2ms)) : Duration::zero();
  job.pause = 6 * scenario.busy / static_cast<int>(job.messages.size());  // each third has one, of half that
  job.seed = random.next();
  job.roles.assign(scenario.cables.size(), session::RailRole::own);
  if (job.roles.size() > 1 && random.chance(0.3)) {
    job.roles.back() = session::RailRole::reserve;
  }
  const auto lanes = static_cast<std::uint32_t>(random.between(std::uint64_t{1}, 3u));
  job.lanes = {.network = random.chance(0.5), .flows = lanes, .most = lanes};
  return job;
}

Damage draw_damage(SeededRandom& random) {
  switch (random.between(std::uint64_t{0}, 6u)) {
    case 0:
    case 1:
      return {.no_link = true};
    case 2:
      return {.silent_out = true, .silent_in = true};
    case 3:
      return {.silent_in = true};
    case 4:
      return {.silent_out = true};
    case 5:
      return {.loss = 0.02};
    default:
      return {.rate = 50'000'000};
  }
}

void draw_faults(SeededRandom& random, Scenario& scenario) {
  // Many short ones hit burials and dials that are under way.
  const bool many = random.chance(0.3);
  const std::uint64_t count = random.between(std::uint64_t{1}, many ? 24u : 5u);
  for (std::uint64_t i = 0; i < count; ++i) {
    Fault fault;
    fault.at = random.between(Duration::zero(), scenario.busy);
    const Duration longest = many                 ? Duration(20ms)
                             : random.chance(0.7) ? Duration(300ms)
                                                  : kTroubled - fault.at;
    fault.until = fault.at + random.between(Duration(100us), longest);
    fault.host = random.between(std::uint64_t{0}, kHosts - 1);
    fault.rail = random.between(std::uint64_t{0}, scenario.cables.size() - 1);
    fault.frozen = scenario.sound || random.chance(0.15);
    if (!fault.frozen) {
      fault.damage = draw_damage(random);
    }
    scenario.faults.push_back(fault);
  }
  // All rails of a host, at about the same time.
  if (!scenario.sound && random.chance(0.2)) {
    const Fault first = scenario.faults.front();
    for (std::size_t rail = 0; rail < scenario.cables.size() && !first.frozen; ++rail) {
      Fault other = first;
      other.rail = rail;
      other.at += random.between(Duration::zero(), Duration(1ms));
      other.until = std::max(other.until, other.at + Duration(1ms));
      scenario.faults.push_back(other);
    }
  }
}

void cut_for_ever(SeededRandom& random, Scenario& scenario) {
  const std::size_t host = random.between(std::uint64_t{0}, kHosts - 1);
  const bool silent = random.chance(0.5);
  scenario.faults.clear();
  for (std::size_t rail = 0; rail < scenario.cables.size(); ++rail) {
    Fault fault{.at = random.between(Duration::zero(), Duration(2ms)),
                .until = Duration(1h),
                .host = host,
                .rail = rail,
                .frozen = false,
                .damage = {}};
    fault.damage.no_link = !silent;
    fault.damage.silent_in = fault.damage.silent_out = silent;
    scenario.faults.push_back(fault);
  }
}

const char* name_of(const Damage& damage) {
  return damage.no_link                          ? "has no link"
         : damage.silent_in && damage.silent_out ? "is cut"
         : damage.silent_in                      ? "hears nothing"
         : damage.silent_out                     ? "is not heard"
         : damage.rate != 0                      ? "is throttled"
         : damage.loss > 0                       ? "loses packets"
                                                 : "is sound";
}

}  // namespace

Scenario draw_scenario(std::uint64_t seed) {
  SeededRandom random(seed);
  Scenario scenario;
  scenario.seed = seed;
  scenario.mtu = random.chance(0.5) ? 9000 : 1500;
  scenario.congestion =
      random.chance(0.2) ? stack::CongestionAlgorithm::dctcp : stack::CongestionAlgorithm::cubic;
  scenario.cables = draw_cables(random);
  scenario.comm.piece_bytes = static_cast<std::uint32_t>(random.chance(0.5) ? 8192 : 65536);
  scenario.comm.outage = 2 * kTroubled;
  if (random.chance(0.3)) {
    scenario.tcp.user_timeout = 400ms;
    scenario.tcp.keepalive_idle = 200ms;
    scenario.tcp.keepalive_interval = 50ms;
  }
  scenario.sound = random.chance(0.15);
  scenario.hopeless = !scenario.sound && random.chance(0.05);
  constexpr std::array<Duration, 3> kBusy{5ms, 100ms, 1s};
  scenario.busy = kBusy[random.between(std::uint64_t{0}, kBusy.size() - 1)];
  const std::uint64_t jobs = random.between(std::uint64_t{1}, 2u);
  for (std::uint64_t i = 0; i < jobs; ++i) {
    scenario.jobs.push_back(draw_job(random, scenario));
  }
  if (scenario.sound) {
    const double loss = random.chance(0.5) ? 0.01 : 0;
    std::ranges::for_each(scenario.cables, [&](CableOptions& cable) { cable.loss = loss; });
    scenario.tcp = {};
  }
  draw_faults(random, scenario);
  if (scenario.hopeless) {
    scenario.comm.outage = scenario.tcp.user_timeout = 500ms;
    scenario.tcp.keepalive_idle = 200ms;  // for the end that waits
    scenario.tcp.keepalive_interval = 50ms;
    cut_for_ever(random, scenario);
  }
  return scenario;
}

std::string to_text(const Scenario& scenario) {
  std::string text = fmt::format(
      "seed {}: {} rails, MTU {}, {} comms{}{}\n", scenario.seed, scenario.cables.size(), scenario.mtu,
      scenario.jobs.size(), scenario.sound ? ", sound cables" : "", scenario.hopeless ? ", hopeless" : "");
  for (const CableOptions& cable : scenario.cables) {
    text += fmt::format("  rail: {} Mbit/s, {} us, queue {} us, loss {}\n", cable.rate / 1'000'000,
                        cable.delay / 1us, cable.queue / 1us, cable.loss);
  }
  for (const JobOptions& job : scenario.jobs) {
    text += fmt::format("  host {} sends {} messages, {} at a time, {} lanes a route{}\n", job.from,
                        job.messages.size(), job.depth, job.lanes.flows,
                        job.roles.back() == session::RailRole::reserve ? ", the last rail in reserve" : "");
  }
  for (const Fault& fault : scenario.faults) {
    text += fmt::format(
        "  {:9.3f} to {:9.3f} ms: host {} {}\n", static_cast<double>(fault.at / 1us) / 1000,
        static_cast<double>(fault.until / 1us) / 1000, fault.host,
        fault.frozen ? "stands still" : fmt::format("rail {} {}", fault.rail, name_of(fault.damage)));
  }
  return text;
}

}  // namespace tfabric::simulation::rails
