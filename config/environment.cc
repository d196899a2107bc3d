#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <string_view>

#include "config/keys.h"
#include "config/reading.h"
#include "config/value.h"

namespace tfabric::config {
namespace {

// Variables of tests, scripts and of single commands, which are not part of the configuration.
constexpr std::array<std::string_view, 5> kOtherUses{"TFABRIC_TEST_", "TFABRIC_SIM_", "TFABRIC_BUILD",
                                                     "TFABRIC_PERF_", "TFABRIC_TOKEN"};

constexpr std::string_view kPrefix = "TFABRIC_";

bool is_other_use(std::string_view name) {
  return !name.starts_with(kPrefix) ||
         std::any_of(kOtherUses.begin(), kOtherUses.end(),
                     [&](std::string_view prefix) { return name.starts_with(prefix); });
}

bool is_nccl_variable(std::string_view name) {
  const auto all = keys();
  return name.starts_with("NCCL_") &&
         std::any_of(all.begin(), all.end(), [&](const Key& key) { return key.nccl_variable == name; });
}

// Reads NCCL's own variables. Like NCCL, it ignores an invalid value, because the job may have no use for the
// variable; the key's origin mentions it.
void read_nccl_variables(const Environment& environment, Config& config,
                         std::map<std::string, std::string>& origins) {
  for (const Key& key : keys()) {
    const auto found = key.nccl_variable.empty() ? environment.end() : environment.find(key.nccl_variable);
    if (found == environment.end() || found->second.empty()) {
      continue;
    }
    std::string& origin = origins.try_emplace(key.name, "default").first->second;
    if (key.set(config, found->second)) {
      origin = "environment " + key.nccl_variable;
    } else {
      origin = fmt::format("{} (environment {} is \"{}\", expected {}: ignored)", origin, key.nccl_variable,
                           found->second, key.expected);
    }
  }
}

}  // namespace

Environment whole_environment() {
  Environment variables;
  for (char** entry = environ; entry != nullptr && *entry != nullptr; ++entry) {
    const std::string_view text(*entry);
    const std::size_t equals = text.find('=');
    if (equals != std::string_view::npos) {
      variables.emplace(text.substr(0, equals), text.substr(equals + 1));
    }
  }
  return variables;
}

Environment process_environment() {
  Environment variables = whole_environment();
  std::erase_if(variables, [](const auto& variable) {
    const std::string& name = variable.first;
    return !name.starts_with(kPrefix) && !name.starts_with("NCCL_IB_") && !is_nccl_variable(name) &&
           !is_launcher_variable(name);
  });
  return variables;
}

void set_rail_key(Rail& rail, std::string_view key, std::string_view value, const std::string& where,
                  std::vector<std::string>& errors) {
  const RailKey* found = find_rail_key(key);
  if (found == nullptr) {
    errors.push_back(
        fmt::format("{}: a rail has no key `{}`{}", where, key, suggestion(key, rail_key_names())));
  } else if (!found->set(rail, value)) {
    errors.push_back(fmt::format("{}: `{}` is \"{}\", expected {}", where, key, value, found->expected));
  } else {
    rail.origins[std::string(key)] = where;
    return;
  }
  rail.malformed = true;
}

std::vector<Rail> parse_rails(std::string_view text, std::vector<std::string>& errors) {
  std::vector<Rail> rails;
  const std::size_t before = errors.size();
  const std::string where = fmt::format("environment {}", kRailsVariable);
  while (!text.empty()) {
    std::string_view one = take_until(text, ';');
    if (trimmed(one).empty()) {
      continue;
    }
    Rail rail;
    rail.where = where;
    set_rail_key(rail, "kind", trimmed(take_until(one, ':')), where, errors);
    for (bool first = true; !one.empty(); first = false) {
      std::string_view pair = take_until(one, ',');
      const bool device_alone = first && pair.find('=') == std::string_view::npos;
      const std::string key = device_alone ? "device" : trimmed(take_until(pair, '='));
      set_rail_key(rail, key, trimmed(pair), where, errors);
    }
    rails.push_back(std::move(rail));
  }
  if (errors.size() > before) {
    errors.back() += fmt::format("; rails are written like {}", kRailsExample);
  }
  return rails;
}

void read_environment(const Environment& environment, Config& config,
                      std::map<std::string, std::string>& origins, std::vector<std::string>& errors) {
  read_nccl_variables(environment, config, origins);
  for (const auto& variable : environment) {
    const auto& [name, value] = variable;
    if (name == kFileVariable || name == kFaultVariable || is_other_use(name) || is_of_service(name, value)) {
      continue;
    }
    const std::string origin = "environment " + name;
    if (name == kRailsVariable) {
      config.tcp.rails = parse_rails(value, errors);
      config.tcp.rails_from_environment = true;
      origins["tcp.rails"] = origin;
      continue;
    }
    const auto all = keys();
    const auto found =
        std::find_if(all.begin(), all.end(), [&](const Key& k) { return k.environment == variable.first; });
    if (const std::string why = why_gone(name); !why.empty()) {
      errors.push_back(fmt::format("{} {}", origin, why));
    } else if (found == all.end()) {
      config.notes.push_back(
          fmt::format("{} is unknown, and changes nothing{}", origin, suggestion(name, environment_names())));
    } else if (!found->set(config, value)) {
      errors.push_back(fmt::format("{} is \"{}\", expected {}", origin, value, found->expected));
    } else {
      origins[found->name] = origin;
    }
  }
}

}  // namespace tfabric::config
