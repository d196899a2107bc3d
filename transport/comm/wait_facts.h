// What a comm knows of a wait, for the verdict on its cause (observe/verdict/judge.h).
#pragma once

#include "observe/verdict/judge.h"
#include "transport/comm/lanes.h"
#include "transport/engine/turn.h"
#include "transport/session/peer_processes.h"

namespace tfabric::comm {

// Adds who the peer is and what the witness knows of its process.
void add_process(verdict::WaitFacts& facts, const session::PeerProcesses& processes,
                 const session::ProcessUser& user) TF_IN_TURN;
// Adds the lanes that carry. `lacks_offered`: what waits needs one that was offered, and there is none.
// Otherwise others than those stand beside, if there is one.
void add_lanes(verdict::WaitFacts& facts, const Lanes& lanes, bool lacks_offered, Instant now) TF_IN_TURN;

}  // namespace tfabric::comm
