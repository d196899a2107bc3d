// The configuration as `tfabric info` shows it to people.
#pragma once

#include <string>

#include "config/config.h"

namespace tfabric::tools {

// Returns the keys that are not at their defaults, with values and origins, and with `all` the others below
// them. Keys of a rail whose value is chosen when the rail opens are shown as "auto". Each line ends in a
// newline.
[[nodiscard]] std::string config_text(const config::Config& config, bool all);

}  // namespace tfabric::tools
