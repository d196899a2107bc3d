#include "transport/try_nics.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <utility>

#include "host/process_lock.h"
#include "transport/rails/diagnosis/examine.h"
#include "transport/registry.h"

namespace tfabric::transport {
namespace {

// No other process hears of this one, and devices and their stand-ins are those of a job: so this opens where
// a job would.
config::Config for_trial(const config::Config& given) {
  config::Config config = with_used_rails(given);
  config.transport = "tcp";
  std::erase_if(config.tcp.rails, [](const config::Rail& rail) { return !config::is_nic(rail); });
  config.tcp.witness = false;
  config.observe.page = false;
  return with_all_rails(std::move(config));
}

std::string said_of(const config::Rail& rail) {
  std::vector<std::string> gateways;
  for (const std::string* gateway : {&rail.gateway, &rail.gateway6}) {
    if (!gateway->empty()) {
      gateways.push_back(*gateway);
    }
  }
  return gateways.empty() ? fmt::format("{} has no gateway that could be asked", rail.name)
                          : fmt::format("{}'s gateway {} answers", rail.name, fmt::join(gateways, " and "));
}

}  // namespace

config::Config with_all_rails(config::Config config) {
  config.tcp.rails_per_process = {.rule = config::RailsPerProcess::Rule::all, .count = 0};
  config.tcp.engines = 1;
  config.tcp.probe = false;
  // What is enough for a rank's share may be too little for all rails.
  config.memory.budget_mib = 0;
  if (config.memory.hugepages == config::HugepageMode::required) {
    config.memory.hugepages = config::HugepageMode::automatic;
  }
  return config;
}

bool has_nics(const config::Config& config) {
  const config::Config used = with_used_rails(config);
  return std::any_of(used.tcp.rails.begin(), used.tcp.rails.end(), config::is_nic);
}

std::string user_of_nics(const config::Config& config, const diagnosis::Host& host) {
  for (const config::Rail& rail : config.tcp.rails) {
    const auto holder =
        config::is_nic(rail) ? rails::holder_of(host, config.lock_folder, rail) : std::nullopt;
    if (holder) {
      return fmt::format("{} has rail {}", host::describe_process(*holder), rail.name);
    }
  }
  return {};
}

Result<NicTrial> try_nics(const config::Config& config) {
  const config::Config trial = for_trial(config);
  const auto transport = open(trial);
  if (!transport) {
    return transport.error();
  }
  NicTrial result{.faults = (*transport)->probe(), .said = {}};
  std::vector<std::string> said;
  for (const config::Rail& rail : trial.tcp.rails) {
    const bool works = std::none_of(result.faults.begin(), result.faults.end(),
                                    [&](const RailFault& fault) { return fault.rail == rail.name; });
    if (works) {
      said.push_back(said_of(rail));
    }
  }
  result.said =
      said.empty() ? "none could be used" : fmt::format("opened, with a link: {}", fmt::join(said, "; "));
  return result;
}

}  // namespace tfabric::transport
