#include "fixture.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <filesystem>
#include <fstream>

namespace tfabric::config {

// For tests that give up root's rights and still want to come here.
Folder::Folder() { std::filesystem::permissions(path(), std::filesystem::perms(0755)); }

std::string Folder::write(const std::string& name, const std::string& text) const {
  std::ofstream(path(name), std::ios::binary) << text;
  return path(name);
}

Result<Config> load_text(const std::string& text, const Environment& environment) {
  const Folder folder;
  const std::vector<std::string> files{folder.write("c.toml", text)};
  return load(environment, files);
}

Result<Config> load_environment(const Environment& environment) { return load(environment, {}); }

std::string error_of(const Result<Config>& config) {
  REQUIRE_FALSE(config.ok());
  REQUIRE(config.error().code == Errc::invalid_usage);
  return config.error().message;
}

Config::Entry entry_of(const Config& config, const std::string& key) {
  const auto found = std::find_if(config.entries.begin(), config.entries.end(),
                                  [&](const Config::Entry& entry) { return entry.key == key; });
  return found == config.entries.end() ? Config::Entry{key, "none", "none"} : *found;
}

}  // namespace tfabric::config
