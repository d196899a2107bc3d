// `tfabric perf` between two processes: the client decides and prints, the server follows.
//
// After the hellos each side sends its listen handles, both open their lanes, and then the client names
// one run after another; the server answers "ready" and, after the run, its half of the result.
#pragma once

#include "base/result.h"
#include "tools/perf/control.h"
#include "tools/perf/options.h"

namespace tfabric::perf {

struct Modes {
  bool bandwidth = true;
  bool latency = true;
};

// Prints table or JSON. True if all data was right.
Result<bool> run_client(ControlChannel& control, const LocalOptions& local, const SweepOptions& sweep,
                        Modes modes);
// Follows one client to its end.
Status run_server(ControlChannel& control, const LocalOptions& local);

}  // namespace tfabric::perf
