// The peer's rails, from the endpoints of its handle.
//
// A rail of the kernel's TCP may have an address of each family; it listens at both with one port, and by
// that the two endpoints are known to be one rail. Pure.
#pragma once

#include <span>
#include <vector>

#include "transport/session/handshake.h"
#include "transport/session/pairing.h"

namespace tfabric::session {

struct PeerRail {
  RailEnd end;
  std::vector<const Endpoint*> endpoints;  // at least one; they are the handle's
};

[[nodiscard]] std::vector<PeerRail> peer_rails(std::span<const Endpoint> endpoints);

// Returns the endpoint to dial from a rail of ours that pair_rails() has paired with it: the nearest, and of
// those that are equally near the first.
[[nodiscard]] const Endpoint* nearest_of(const RailEnd& ours, const PeerRail& theirs);

}  // namespace tfabric::session
