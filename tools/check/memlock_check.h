// The limit of locked memory, where a NIC is to reach memory of the process.
#pragma once

#include <cstdint>

#include "tools/check/finding.h"
#include "tools/check/host.h"

namespace tfabric::check {

// VFIO locks all memory of the rails.
void check_memlock_for_nics(const Host& host, std::uint32_t need_mib, Findings& findings);
// AF_XDP locks the packet buffers of its rails.
void check_memlock_for_af_xdp(const Host& host, std::uint32_t need_mib, Findings& findings);
// What NCCL registers is not known beforehand.
void check_memlock_for_rdma(const Host& host, Findings& findings);

}  // namespace tfabric::check
