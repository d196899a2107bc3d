#include "config/config.h"

#include <fmt/format.h>
#include <strings.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <system_error>

#include "config/keys.h"
#include "config/reading.h"

namespace tfabric::config {

std::string file_fault(const std::string& path, bool& missing) {
  struct stat status {};
  missing = false;
  if (access(path.c_str(), R_OK) != 0 || stat(path.c_str(), &status) != 0) {
    missing = errno == ENOENT || errno == ENOTDIR;
    return std::generic_category().message(errno);
  }
  if (S_ISDIR(status.st_mode)) {
    return std::generic_category().message(EISDIR);
  }
  // Opening another kind of file may wait for ever. /dev/null stands for no configuration.
  return S_ISREG(status.st_mode) || S_ISCHR(status.st_mode) ? "" : "it is a pipe, a socket or a block device";
}

namespace {

std::string find_file(const Environment& environment, std::span<const std::string> files,
                      std::vector<std::string>& errors) {
  bool missing = false;
  if (const auto named = environment.find(kFileVariable);
      named != environment.end() && !named->second.empty()) {
    if (const std::string fault = file_fault(named->second, missing); !fault.empty()) {
      errors.push_back(
          fmt::format("environment {} names {}, which cannot be read ({}): name a readable file, or unset "
                      "the variable",
                      kFileVariable, named->second, fault));
      return {};
    }
    return named->second;
  }
  for (const std::string& file : files) {
    const std::string fault = file_fault(file, missing);
    if (fault.empty()) {
      return file;
    }
    if (!missing) {
      errors.push_back(fmt::format(
          "{} cannot be read ({}): make it readable for the users who run jobs, or remove it", file, fault));
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
  note_unused_variables(environment, config);
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
      const auto set = rail.origins.find(key.name);
      config.entries.push_back({fmt::format("tcp.rails.{}.{}", rail.name, key.name), key.show(rail),
                                set == rail.origins.end() ? "default" : set->second});
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
  validate_rails(config, errors);
  read_faults(environment, config, errors);
  // A key that could not be read still has its default, which would cause misleading further errors.
  if (errors.empty()) {
    validate_together(config, errors);
  }
  if (!errors.empty()) {
    return Error{Errc::invalid_usage, fmt::format("{}", fmt::join(errors, "\n"))};
  }
  config.launcher = find_launcher(environment);
  describe(config, origins);
  return config;
}

bool nccl_insists(const std::string& nccl_net) { return strcasecmp(nccl_net.c_str(), "tfabric") == 0; }

bool is_required(const Environment& environment, std::span<const std::string> files) {
  std::map<std::string, std::string> origins;
  std::vector<std::string> errors;
  return read(environment, files, origins, errors).required;
}

}  // namespace tfabric::config
