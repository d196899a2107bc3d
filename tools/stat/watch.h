// `tfabric stat --watch`: the table again and again.
#pragma once

#include "observe/finder.h"
#include "tools/stat/network.h"

namespace tfabric::stat {

// On a terminal each look takes the place of the one before, and the table is cut to what fits: keys turn its
// pages. Else one follows the other. `before`: the first look. Returns the exit code when the user ends it by
// a key, or standard output cannot be written; a signal ends the program.
[[nodiscard]] int watch(const View& view, observe::Found before);

}  // namespace tfabric::stat
