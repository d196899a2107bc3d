// Configurations for tests: temporary files, and loads that never read the host's own file.
#pragma once

#include <algorithm>
#include <catch2/catch.hpp>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "config/config.h"
#include "tests/temporary_folder.h"

namespace tfabric::config {

// Readable for all users, because some tests give up root's rights.
class Folder : public test::TemporaryFolder {
 public:
  Folder() { std::filesystem::permissions(path(), std::filesystem::perms(0755)); }
  // Writes a file and returns its path.
  [[nodiscard]] std::string write(const std::string& name, const std::string& text) const {
    std::ofstream(path(name), std::ios::binary) << text;
    return path(name);
  }
};

// Loads a file "c.toml" with `text`.
inline Result<Config> load_text(const std::string& text, const Environment& environment = {}) {
  const Folder folder;
  const std::vector<std::string> files{folder.write("c.toml", text)};
  return load(environment, files);
}

// Loads without a file.
inline Result<Config> load_environment(const Environment& environment) { return load(environment, {}); }

// Returns the message of a load that must fail.
inline std::string error_of(const Result<Config>& config) {
  REQUIRE_FALSE(config.ok());
  REQUIRE(config.error().code == Errc::invalid_usage);
  return config.error().message;
}

// Returns the entry of a key; its value is "none" if the key has no entry.
inline Config::Entry entry_of(const Config& config, const std::string& key) {
  const auto found = std::find_if(config.entries.begin(), config.entries.end(),
                                  [&](const Config::Entry& entry) { return entry.key == key; });
  return found == config.entries.end() ? Config::Entry{key, "none", "none"} : *found;
}

}  // namespace tfabric::config
