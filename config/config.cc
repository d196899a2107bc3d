#include "config/config.h"

#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <system_error>

#include "config/keys.h"
#include "config/reading.h"

namespace tfabric::config {
namespace {

// Returns 0 if `path` is a readable file, else an errno value.
int read_error(const std::string& path) {
  struct stat status {};
  if (access(path.c_str(), R_OK) != 0 || stat(path.c_str(), &status) != 0) {
    return errno;
  }
  return S_ISDIR(status.st_mode) ? EISDIR : 0;
}

std::string explain(int error) { return std::generic_category().message(error); }

std::string find_file(const Environment& environment, std::span<const std::string> files,
                      std::vector<std::string>& errors) {
  if (const auto named = environment.find(kFileVariable);
      named != environment.end() && !named->second.empty()) {
    if (const int error = read_error(named->second); error != 0) {
      errors.push_back(
          fmt::format("environment {} names {}, which cannot be read ({}): name a readable file, or unset "
                      "the variable",
                      kFileVariable, named->second, explain(error)));
      return {};
    }
    return named->second;
  }
  for (const std::string& file : files) {
    const int error = read_error(file);
    if (error == 0) {
      return file;
    }
    if (error != ENOENT && error != ENOTDIR) {
      errors.push_back(
          fmt::format("{} cannot be read ({}): make it readable for the users who run jobs, or remove it",
                      file, explain(error)));
      return {};
    }
  }
  return {};
}

// Reads what can be read; `errors` has the rest.
Config read(const Environment& environment, std::span<const std::string> files,
            std::map<std::string, std::string>& origins, std::vector<std::string>& errors) {
  Config config;
  config.file = find_file(environment, files, errors);
  if (!config.file.empty()) {
    read_toml(config.file, config, origins, errors);
  }
  read_environment(environment, config, origins, errors);
  return config;
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
      config.entries.push_back(
          {fmt::format("tcp.rails.{}.{}", rail.name, key.name), key.show(rail), origin("tcp.rails")});
    }
  }
}

}  // namespace

std::span<const std::string> default_files() {
  static const auto* files = new std::vector<std::string>{"/usr/local/tfabric/tools/config/tfabric.toml",
                                                          "/usr/local/tfabric/config/tfabric.toml"};
  return *files;
}

Result<Config> load(const Environment& environment, std::span<const std::string> files) {
  std::map<std::string, std::string> origins;
  std::vector<std::string> errors;
  Config config = read(environment, files, origins, errors);
  // A key that could not be read still has its default, which would cause misleading further errors.
  if (errors.empty()) {
    validate(config, errors);
  }
  if (!errors.empty()) {
    return Error{Errc::invalid_usage, fmt::format("{}", fmt::join(errors, "\n"))};
  }
  config.launcher = find_launcher(environment);
  describe(config, origins);
  return config;
}

bool is_required(const Environment& environment, std::span<const std::string> files) {
  std::map<std::string, std::string> origins;
  std::vector<std::string> errors;
  return read(environment, files, origins, errors).required;
}

}  // namespace tfabric::config
