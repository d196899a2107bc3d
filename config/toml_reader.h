// The configuration file.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "config/config.h"

namespace tfabric::config {

// Reads `path` into `config`; `origins` gets "path:line" for each key it sets. Appends a message to
// `errors` for each thing that is wrong, with its line.
void read_toml(const std::string& path, Config& config, std::map<std::string, std::string>& origins,
               std::vector<std::string>& errors);

}  // namespace tfabric::config
