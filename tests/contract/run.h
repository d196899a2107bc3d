// Runs the parts of a test case, watches them, and fails the case with all they wrote if one fails, crashes
// or hangs.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <map>
#include <string>
#include <vector>

#include "tests/contract/expect.h"

namespace tfabric::contract {

enum class Ending : unsigned char {
  passes,   // returns
  killed,   // ends by SIGKILL, as a dead peer does
  stopped,  // stops itself for good, and is killed once the others have ended
};

struct PartSpec {
  const char* name;
  Ending ending = Ending::passes;
};

struct RunOptions {
  // Added to the defaults (memif, groups of up to 8 receives), or replacing them. An empty value removes a
  // variable.
  std::map<std::string, std::string> environment;
  // When the watchdog ends the case. Longer than any wait inside a part, whose message says more about what
  // hangs.
  std::chrono::seconds limit = 4 * kPatience;
};

// Runs one or two parts, and returns the ids of their processes, which have ended.
std::vector<pid_t> run(const std::vector<PartSpec>& parts, const RunOptions& options = {});

// With maxRecvs = 1, sends need no announced receive.
inline const std::map<std::string, std::string> kUngrouped{{"TFABRIC_TCP_MAX_RECVS", "1"}};

}  // namespace tfabric::contract
