// Why memory cannot be registered, and what to do about it: nearly always the limit of locked memory.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "base/result.h"

namespace tfabric::rdma {

// Of this process; RLIM_INFINITY as the greatest value.
[[nodiscard]] std::uint64_t memlock_limit();

// `error` is errno of the verb. `limit` is RLIMIT_MEMLOCK in bytes.
[[nodiscard]] std::string registration_fault(int error, std::size_t bytes, std::uint64_t limit);
[[nodiscard]] Error registration_error(int error, std::size_t bytes);

}  // namespace tfabric::rdma
