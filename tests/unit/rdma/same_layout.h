// Our declarations of binary interfaces against rdma-core's own.
#pragma once

#include <cstddef>

#define SAME_OFFSET(ours, theirs, field) \
  static_assert(offsetof(tfabric::rdma::ours, field) == offsetof(theirs, field))
#define SAME_VALUE(ours, theirs) static_assert(static_cast<int>(ours) == static_cast<int>(theirs))
