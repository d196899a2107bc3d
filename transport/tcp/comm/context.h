// What all comms of the TCP transport share.
#pragma once

#include <cstdint>

#include "hugepage/registration.h"
#include "transport/tcp/engine/engine.h"
#include "transport/tcp/engine/progress.h"
#include "transport/tcp/flows/path.h"
#include "transport/tcp/session/comm_table.h"

namespace tfabric::tcp {

struct CommOptions {
  std::uint32_t flows = 1;  // a comm, for each rail of its device; 0: found by measuring
  std::uint32_t max_flows = 16;
  std::uint32_t chunk_bytes = 512u << 10;
  std::uint8_t max_recvs = 1;
  Duration connect_timeout = std::chrono::seconds(10);
};

// What an engine's comms know of their peers.
struct Peers {
  CommTable comms;
  PathBook paths;
};

struct Context {
  engine::Engine& engine;
  engine::Progress& progress;
  hugepage::RegionTable& regions;
  CommOptions options;
  Peers& peers;
};

}  // namespace tfabric::tcp
