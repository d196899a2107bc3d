// Which network NCCL ends up with on this host, and why.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "config/config.h"
#include "tools/check/finding.h"
#include "tools/check/host.h"

namespace tfabric::check {

enum class Network : std::uint8_t {
  tcp,   // tfabric's TCP over DPDK
  rdma,  // tfabric's RDMA
  nccl,  // NCCL's own, or that of another plugin
  none,  // the job fails
};

struct Verdict {
  Network network = Network::none;
  std::string text;
};

// As transport::open decides and NCCL after it, from what was found, without opening anything.
[[nodiscard]] Verdict judge(const Host& host, const Result<config::Config>& config, const Findings& findings);

[[nodiscard]] std::string_view to_string(Network network);

}  // namespace tfabric::check
