// Which of a job's processes on this host speaks for all: what is wrong with a host is said once, not by each
// rank.
#pragma once

#include "config/config.h"

namespace tfabric::plugin {

// Whether this process is the first of its job here that asks. It is to the end of its life, however often it
// asks. Where processes cannot agree for want of a folder, local rank 0 is, and without a launcher each one.
[[nodiscard]] bool is_first_to_tell(const config::LockFolder& folder, const config::Launcher& launcher);

}  // namespace tfabric::plugin
