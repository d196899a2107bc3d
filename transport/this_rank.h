// Who this process is in its job, for messages that are read beside those of other ranks.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "config/config.h"

namespace tfabric::transport {

// Returns the rank in the whole job that the launcher reports, as "rank 3 (RANK)"; empty if none does.
[[nodiscard]] std::string rank_in(const config::Environment& environment);

// Returns the number alone; nothing if no launcher reports it.
[[nodiscard]] std::optional<std::int64_t> rank_number(const config::Environment& environment);

// Returns the job's name or number, as the batch system or the launcher reports it; empty if neither does.
[[nodiscard]] std::string job_in(const config::Environment& environment);

// Returns the name of a lock (host/process_lock.h) that this user's processes of the job on this host have in
// common. All processes that a launcher starts on a host are in its session, whatever wrappers are between
// them.
[[nodiscard]] std::string job_lock_name(const char* purpose, const config::Launcher& launcher);

// Returns the name of this host; "this host" if it has none.
[[nodiscard]] std::string host_name();

// Returns "rank 3 (RANK) on node-b", or "process 4711 on node-b" without a launcher. Reads the environment of
// the process: not for the data path.
[[nodiscard]] std::string this_rank();

}  // namespace tfabric::transport
