// A page as JSON: all that it has, under its own names.
#pragma once

#include <nlohmann/json_fwd.hpp>

#include "observe/finder.h"

namespace tfabric::stat {

[[nodiscard]] nlohmann::json to_json(const observe::Found& found);

}  // namespace tfabric::stat
