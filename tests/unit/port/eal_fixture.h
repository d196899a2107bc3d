// EAL without hugepages, started once for a test program.
#pragma once

#include <catch2/catch.hpp>

#include "transport/tcp/port/eal.h"

namespace tfabric::port {

inline void need_eal() {
  const Status status = start_eal({.hugepages = false, .memory_mib = 192});
  INFO((status ? std::string() : status.error().message));
  REQUIRE(status.ok());
}

}  // namespace tfabric::port
