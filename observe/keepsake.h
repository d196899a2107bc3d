// Keepsakes: the rings of flows (observe/ring.h) that were copied aside when something was wrong, so that the
// packets are still there when the flow has gone on, or is gone.
//
// A slot of the table is a SlotHeader, KeepsakeFacts, and the records of the ring, behind each other. It is
// published as a whole under its sequence, unlike a ring. When all slots are in use, the oldest one makes
// room.
#pragma once

#include <cstddef>

#include "observe/facts.h"
#include "observe/layout.h"

namespace tfabric::observe {

inline constexpr std::size_t kKeepsakeRecordsAt = (sizeof(SlotHeader) + sizeof(KeepsakeFacts) + 63) / 64 * 64;
// Comms that fail together have one cause: the first flows of a second are kept, and leave the keepsakes of
// earlier troubles alone.
inline constexpr int kMostKeepsakesASecond = 24;

}  // namespace tfabric::observe
