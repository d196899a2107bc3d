// EAL without hugepages, started once for a test program.
#pragma once

#include <catch2/catch.hpp>

#include "transport/tcp/nic/eal.h"

namespace tfabric::nic {

inline void need_eal() {
  const Status status = start_eal({.hugepages = false, .memory_mib = 192});
  INFO((status ? std::string() : status.error().message));
  REQUIRE(status.ok());
}

}  // namespace tfabric::nic
