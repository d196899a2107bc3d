// What a container needs of this host so that tfabric runs in it.
#pragma once

#include <string>
#include <vector>

#include "tools/setup/facts.h"

namespace tfabric::setup {

// For people: options of `docker run`, or a fragment of a pod's specification, with comments on what each is
// for. Errors: no ENI is bound here.
Result<std::string> docker_flags(const Facts& facts);
Result<std::string> pod_fragment(const Facts& facts);

}  // namespace tfabric::setup
