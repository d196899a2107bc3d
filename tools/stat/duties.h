// Rails that do not do what they are there for: those that stand in for others, or did, and those that carry
// nothing while their sisters do.
#pragma once

#include <map>
#include <string>

#include "tools/stat/rates.h"

namespace tfabric::stat {

struct Duty {
  std::string word;  // for a rail's row
  std::string text;  // "rail eth0 has stood in …"
};

// By the names of the rails; those of which there is nothing to say are not there.
[[nodiscard]] std::map<std::string, Duty> duties_of(const Process& process);

}  // namespace tfabric::stat
