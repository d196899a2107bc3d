// Configurations for tests: files that go away again, and loads that never look at the host's own file.
#pragma once

#include <string>
#include <vector>

#include "config/config.h"
#include "tests/temporary_folder.h"

namespace tfabric::config {

class Folder : public test::TemporaryFolder {
 public:
  Folder();
  // Writes a file and returns its path.
  [[nodiscard]] std::string write(const std::string& name, const std::string& text) const;
};

// Loads with `text` as the file, called "c.toml".
Result<Config> load_text(const std::string& text, const Environment& environment = {});
// Loads without a file.
Result<Config> load_environment(const Environment& environment);

// The message of what has to fail.
std::string error_of(const Result<Config>& config);
// The entry of a key; its value is "none" if there is none.
Config::Entry entry_of(const Config& config, const std::string& key);

}  // namespace tfabric::config
