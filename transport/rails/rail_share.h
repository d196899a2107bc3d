// Which of the configured rails a process uses, and the leases by which it gets them.
//
// A NIC has one user-space owner, so the processes of a job share the exclusive rails out by their local
// rank. Every process shows NCCL all rails, since NCCL's search for paths must come to the same result in
// each rank; traffic over a rail that another process has goes over one of the process's own (docs/rails.md).
//
// A lease is a lock among this host's processes (host/process_lock.h), and of a rail that lies in a network
// namespace also one among the processes there (host/namespace_lock.h). The process keeps it until it ends,
// since DPDK cannot be given other NICs later.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "base/result.h"
#include "base/time.h"
#include "config/config.h"

namespace tfabric::rails {

// Returns true if only one process can have the rail at a time: all rails but automatic memif ones.
[[nodiscard]] bool is_exclusive(const config::Rail& rail);

struct RailShare {
  // Numbers of exclusive rails. The process gets all of them or, if `any` is set, the first `any` that are
  // free.
  std::vector<std::size_t> rails;
  std::size_t any = 0;
  std::string why;  // for messages, such as "local rank 1 of 4 (LOCAL_RANK)"
};

// Errc::unusable if there are fewer exclusive rails than processes, and no other rail; in all processes of
// the host alike if their number is known.
Result<RailShare> share_of(const config::Tcp& config, const config::Launcher& launcher);

// The configuration with the rails of one process: the rails that are not exclusive, and its share. Of a
// share of any free rails those with the largest packets are taken. With all rails if no process gets any.
[[nodiscard]] config::Tcp largest_share(const config::Config& config);

// How long a process waits for a rail of its share: the process that had it before may be about to end.
inline constexpr Duration kLeaseWait = std::chrono::seconds(3);

// Leases the rails of a share, and returns their numbers. Errc::unusable, with the process that has it, if
// one of them, or all of which any would do, is another process's.
Result<std::vector<std::size_t>> lease_rails(const std::vector<config::Rail>& rails, const RailShare& share,
                                             const config::LockFolder& folder, Duration wait = kLeaseWait);

// The name of a rail's lock: the same text in all processes of the host for the same thing.
[[nodiscard]] std::string lease_name(const config::Rail& rail);

}  // namespace tfabric::rails
