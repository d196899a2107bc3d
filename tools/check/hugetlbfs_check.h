// The file system of hugepages, where hugepages are used.
#pragma once

#include "tools/check/finding.h"
#include "tools/check/host.h"

namespace tfabric::check {

// tfabric needs none, since its pages have no names; but DPDK does not start where one is mounted that it may
// not read.
void check_hugetlbfs(const Host& host, Findings& findings);

}  // namespace tfabric::check
