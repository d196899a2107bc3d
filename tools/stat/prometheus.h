// Pages as metrics, in Prometheus' text format 0.0.4
// (https://prometheus.io/docs/instrumenting/exposition_formats/).
#pragma once

#include <string>

#include "observe/finder.h"

namespace tfabric::stat {

[[nodiscard]] std::string to_prometheus(const observe::Found& found);

}  // namespace tfabric::stat
