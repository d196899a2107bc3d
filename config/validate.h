// What a configuration must be beyond the right type of each value.
#pragma once

#include <string>
#include <vector>

#include "config/config.h"

namespace tfabric::config {

// Gives rails without a name one. Appends a message for each fault.
void validate(Config& config, std::vector<std::string>& errors);

}  // namespace tfabric::config
