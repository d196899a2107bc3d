// By which of its GIDs a port reaches a peer. GIDs come and go with addresses, and which of them is right
// depends on the peer's.
#pragma once

#include <cstddef>
#include <optional>

#include "transport/rdma/discovery/gid_choice.h"
#include "transport/rdma/meeting/offered_rail.h"
#include "transport/rdma/pairs/connection.h"

namespace tfabric::rdma::pairs {

// Used by any thread.
class PortWays {
 public:
  struct Way {
    std::size_t number = 0;
    meeting::OfferedRail about;  // what a peer is to know of the port on this way
  };
  // To a peer of which nothing is known. If no GID is left, the last one.
  [[nodiscard]] virtual Way usual() = 0;
  // Nothing: none of the port's GIDs can talk to the peer's.
  [[nodiscard]] virtual std::optional<Way> way_to(const Peer& peer) = 0;
  // Valid as long as this.
  [[nodiscard]] virtual const Rail& rail(std::size_t way) = 0;

 protected:
  ~PortWays() = default;
};

}  // namespace tfabric::rdma::pairs
