// Which NICs become rails.
#pragma once

#include <string>
#include <vector>

#include "tools/setup/eni.h"
#include "tools/setup/facts.h"

namespace tfabric::setup {

struct LeftOut {
  std::string address, name, reason;  // the reason continues "it …"
};

struct Selection {
  std::vector<Eni> enis;
  std::vector<LeftOut> left_out;
};

// All Ethernet functions that can be used and that nobody needs to reach the host; with `nics`, only those,
// by address or interface name. Errors: one that is asked for and cannot be used; a name that is none.
Result<Selection> select(const Facts& facts, const std::vector<std::string>& nics,
                         const std::vector<std::string>& exclude);

}  // namespace tfabric::setup
