// The RDMA ports, as the transport and `tfabric info` know them.
#pragma once

#include <memory>

#include "base/result.h"
#include "config/config.h"
#include "tools/check/finding.h"
#include "tools/check/host.h"
#include "transport/rdma/discovery/discovery.h"

namespace tfabric::check {

// What is to be known of RDMA; `found` only if the library is there.
struct RdmaView {
  std::unique_ptr<const rdma::Verbs> verbs;  // outlives what it has found
  Status library;
  rdma::Discovery found;
  Status bootstrap;  // whether there are addresses at which ranks can meet

  [[nodiscard]] Status usable() const;
};

[[nodiscard]] RdmaView look_at_rdma(const Host& host, const config::Rdma& wishes);

// `chosen`: RDMA is what NCCL gets if it is usable; else it is worth a note at most.
void check_rdma(const Host& host, const config::Config& config, const RdmaView& view, bool chosen,
                Findings& findings);

}  // namespace tfabric::check
