// All checks of one host, in one go. Reads only: nothing is opened for use, bound or changed.
#pragma once

#include <functional>

#include "tools/check/finding.h"
#include "tools/check/host.h"
#include "tools/check/rdma_check.h"
#include "tools/check/verdict.h"

namespace tfabric::check {

struct Report {
  Findings findings;
  Verdict verdict;
};

using RdmaLook = std::function<RdmaView(const Host&, const config::Rdma&)>;

// `look` finds the RDMA devices; it is not called if the configuration is wrong.
[[nodiscard]] Report examine(const Host& host, const RdmaLook& look);

}  // namespace tfabric::check
