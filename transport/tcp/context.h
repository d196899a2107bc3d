// What all comms of the TCP transport share.
#pragma once

#include <cstdint>
#include <mutex>

#include "hugepage/registration.h"
#include "transport/tcp/engine/engine.h"
#include "transport/tcp/engine/progress.h"

namespace tfabric::tcp {

struct CommOptions {
  std::uint32_t flows = 1;  // a comm, for each rail of its device
  std::uint32_t chunk_bytes = 512u << 10;
  std::uint8_t max_recvs = 1;
  Duration connect_timeout = std::chrono::seconds(10);
};

struct Context {
  engine::Engine& engine;
  engine::Progress& progress;
  hugepage::RegionTable& regions;
  CommOptions options;
};

using EngineGuard = std::lock_guard<engine::EngineLock>;

}  // namespace tfabric::tcp
