// The RDMA section of `tfabric info`: the ports of this host, which are used and by which GIDs, and why.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "base/result.h"
#include "config/config.h"
#include "transport/rdma/discovery/discovery.h"

namespace tfabric::tools {

// Looks at this host; ends in a newline. A configuration that is wrong leaves nothing to look for.
[[nodiscard]] std::string rdma_text(const Result<config::Config>& config);
[[nodiscard]] nlohmann::json rdma_json(const Result<config::Config>& config);

// Of what was found.
[[nodiscard]] std::string to_text(const rdma::Discovery& found);
[[nodiscard]] nlohmann::json to_json(const rdma::Discovery& found);

}  // namespace tfabric::tools
