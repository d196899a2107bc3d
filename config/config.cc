#include "config/config.h"

#include <fmt/format.h>
#include <unistd.h>

#include <array>

#include "config/environment.h"
#include "config/keys.h"
#include "config/toml_reader.h"
#include "config/validate.h"

namespace tfabric::config {
namespace {

// Where the file is looked for if TFABRIC_CONFIG does not name one.
constexpr std::array kFiles{"/usr/local/tfabric/tools/config/tfabric.toml", "/usr/local/tfabric/config/tfabric.toml"};

std::string find_file(const Environment& environment, std::vector<std::string>& errors) {
  if (const auto named = environment.find(kFileVariable); named != environment.end() && !named->second.empty()) {
    if (access(named->second.c_str(), R_OK) != 0) {
      errors.push_back(fmt::format("{} names {}, which cannot be read", kFileVariable, named->second));
      return {};
    }
    return named->second;
  }
  for (const char* file : kFiles) {
    if (access(file, R_OK) == 0) {
      return file;
    }
  }
  return {};
}

void describe(Config& config, const std::map<std::string, std::string>& origins) {
  const auto origin = [&](const std::string& name) {
    const auto found = origins.find(name);
    return found == origins.end() ? std::string("default") : found->second;
  };
  for (const Key& key : keys()) {
    config.entries.push_back({key.name, key.show(config), origin(key.name)});
  }
  for (const Rail& rail : config.tcp.rails) {
    for (const RailKey& key : rail_keys()) {
      config.entries.push_back({fmt::format("tcp.rails.{}.{}", rail.name, key.name), key.show(rail), origin("tcp.rails")});
    }
  }
}

}  // namespace

Result<Config> load(const Environment& environment) {
  Config config;
  std::map<std::string, std::string> origins;
  std::vector<std::string> errors;
  config.file = find_file(environment, errors);
  if (!config.file.empty()) {
    read_toml(config.file, config, origins, errors);
  }
  read_environment(environment, config, origins, errors);
  validate(config, errors);
  if (!errors.empty()) {
    return Error{Errc::invalid_usage, fmt::format("{}", fmt::join(errors, "\n"))};
  }
  describe(config, origins);
  return config;
}

}  // namespace tfabric::config
