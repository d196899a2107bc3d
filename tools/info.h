// The sub-command `tfabric info` (docs/tfabric-info.md): what NCCL would see on this host.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "base/result.h"
#include "config/config.h"
#include "transport/rdma/discovery/discovery.h"

namespace CLI {
class App;
}

namespace tfabric::tools {

// Adds the sub-command to the program. When it has run, `exit_code` is 0, or 3 if NCCL would not use the
// plugin here.
void add_info(CLI::App& app, int& exit_code);

// The RDMA section: the ports of this host, which of them are used and by which GIDs, and why (rdma_info.cc).
// These look at this host, unless the configuration is wrong; the text ends in a newline.
[[nodiscard]] std::string rdma_text(const Result<config::Config>& config);
[[nodiscard]] nlohmann::json rdma_json(const Result<config::Config>& config);

// The same of ports that have been found, and of the devices that they are for NCCL.
[[nodiscard]] std::string to_text(const rdma::Discovery& found, const config::Config& config);
[[nodiscard]] nlohmann::json to_json(const rdma::Discovery& found, const config::Config& config);

}  // namespace tfabric::tools
