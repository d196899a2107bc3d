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
  // Beside, and instead of, the usual: memif, groups of up to 8 receives. An empty value removes a variable.
  std::map<std::string, std::string> environment;
  // The watchdog. Longer than any wait inside a part, which can tell more about what hangs.
  std::chrono::seconds limit = 4 * kPatience;
};

// One or two parts; returns their processes, which have ended.
std::vector<pid_t> run(const std::vector<PartSpec>& parts, const RunOptions& options = {});

// For tests of what maxRecvs changes: with 1, sends need no receive that was announced.
inline const std::map<std::string, std::string> kUngrouped{{"TFABRIC_TCP_MAX_RECVS", "1"}};

}  // namespace tfabric::contract
