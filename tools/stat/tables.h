// What `tfabric stat` prints.
#pragma once

#include <string>
#include <vector>

#include "tools/stat/rates.h"

namespace tfabric::stat {

enum class Level { rail, peer, comm, flow };

// All lines end in a newline.
[[nodiscard]] std::string to_text(const std::vector<Process>& processes, Level level);

}  // namespace tfabric::stat
