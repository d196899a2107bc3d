// What the comms of an engine share.
#pragma once

#include <cstdint>

#include "hugepage/registration.h"
#include "transport/engine/engine.h"
#include "transport/engine/progress.h"
#include "transport/flows/path.h"
#include "transport/lane/offers.h"
#include "transport/session/comm_table.h"
#include "transport/session/peer_processes.h"
#include "transport/stripe/copy_pool.h"

namespace tfabric::report {
class EngineReport;
}

namespace tfabric::comm {

struct CommOptions {
  int traffic_class = -1;   // the communicator's, for lanes that mark their packets; -1: none
  std::uint32_t flows = 1;  // of a comm, for each rail of its device; 0: found by measuring
  std::uint32_t max_flows = 16;
  std::uint32_t offered_lanes = 1;                 // of a comm, for each offered rail
  std::uint32_t piece_bytes = 512u << 10;          // at most on a stream
  std::uint32_t offered_piece_bytes = 512u << 10;  // on a lane that is offered
  std::uint8_t max_recvs = 1;
  Duration connect_timeout = std::chrono::seconds(10);
  const char* connect_key = "tcp.connect_timeout_ms";  // which says so
  Duration outage = std::chrono::seconds(20);          // how long a comm waits for a lane when it has none
  // The same while the peer's process is known to be stopped.
  Duration frozen = std::chrono::seconds(300);
};

// What the comms of one engine share about their peers, and what they owe them.
struct Peers {
  session::CommTable comms;
  flows::PathBook paths;
  session::PeerProcesses processes;
  report::EngineReport* report = nullptr;  // null: nothing is shown
  stripe::CopyPool copies;
  // How long a comm that is closed waits until the peer has what was said to be sent. Each that waits in vain
  // leaves the next one half of it, since many may have the same peer.
  Duration patience = kPatience;
  static constexpr Duration kPatience = std::chrono::seconds(3);
};

struct Context {
  engine::Engine& engine;
  engine::Progress& progress;
  hugepage::RegionTable& regions;
  CommOptions options;
  Peers& peers;
  // Rails of the comms' device whose lanes are opened by offers; null: there are none.
  lane::OfferedRails* offered = nullptr;
};

}  // namespace tfabric::comm
