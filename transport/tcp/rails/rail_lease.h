// The leases of exclusive rails: locks of this host's processes (host/process_lock.h). The process keeps them
// until it ends, since DPDK cannot be given other NICs later.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "base/result.h"
#include "base/time.h"
#include "config/config.h"
#include "transport/tcp/rails/rail_share.h"

namespace tfabric::tcp {

// How long a rail of this process's is waited for: the process that had it before may be on its way out.
inline constexpr Duration kLeaseWait = std::chrono::seconds(3);

// Leases the rails of a share, and returns their numbers. Errc::unusable, with who has it, if one is another
// process's, or all are of which any would do.
Result<std::vector<std::size_t>> lease_rails(const std::vector<config::Rail>& rails, const RailShare& share,
                                             const config::LockFolder& folder, Duration wait = kLeaseWait);

// What a rail's lock is of: the same text in all processes of the host for the same thing.
[[nodiscard]] std::string lease_name(const config::Rail& rail);

}  // namespace tfabric::tcp
