// `tfabric wire` at work: forwards until it is told to stop.
#pragma once

#include <chrono>
#include <string>
#include <vector>

#include "base/result.h"
#include "tools/wire/driver.h"

namespace tfabric::wire {

struct ForwardOptions {
  DriverOptions driver;
  std::vector<std::string> settings;  // each as after `set`: "to=b loss=1%"
  std::string control;                // the control socket's path; empty: none
  std::chrono::seconds seconds{0};    // 0: until a signal or `stop`
  bool spin = false;                  // never sleep
  bool json = false;
};

// Until SIGINT, SIGTERM, `stop` or the end of the time; then prints the statistics.
Status forward(const ForwardOptions& options);

}  // namespace tfabric::wire
