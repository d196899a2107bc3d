// What is wrong with this host's RDMA devices, as the transport and `tfabric info` know them.
#pragma once

#include <memory>

#include "base/result.h"
#include "config/config.h"
#include "transport/diagnosis/diagnosis.h"
#include "transport/diagnosis/host.h"
#include "transport/rdma/discovery/discovery.h"

namespace tfabric::rdma {

// What there is of RDMA. Tests make their own.
struct Survey {
  std::unique_ptr<const Verbs> verbs;  // outlives what was found with it
  Status library;  // Errc::unusable: libibverbs cannot be loaded, and nothing was looked for
  Discovery found;
  Status bootstrap;  // whether there are addresses at which ranks can meet

  [[nodiscard]] Status usable() const;
};

// Opens the devices that the configuration selects, to query them; none stays in use.
[[nodiscard]] Survey survey(const config::Rdma& wishes, const diagnosis::Host& host);

// `chosen`: NCCL gets RDMA if it is usable. Otherwise there is a note at most.
[[nodiscard]] diagnosis::Diagnosis diagnose(const Survey& survey, const config::Config& config,
                                            const diagnosis::Host& host, bool chosen);

// Both in one.
[[nodiscard]] diagnosis::Diagnosis examine(const config::Config& config, const diagnosis::Host& host,
                                           bool chosen);

}  // namespace tfabric::rdma
