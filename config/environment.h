// The configuration's environment variables.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "config/config.h"

namespace tfabric::config {

void read_environment(const Environment& environment, Config& config,
                      std::map<std::string, std::string>& origins, std::vector<std::string>& errors);

}  // namespace tfabric::config
