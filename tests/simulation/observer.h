// Sees every packet of a run, for a capture or a hash that distinguishes runs.
#pragma once

#include "base/time.h"
#include "tests/simulation/packet.h"

namespace tfabric::simulation {

class Observer {
 public:
  virtual ~Observer() = default;
  virtual void sent(const Packet& packet, Instant now) = 0;      // by packet.from
  virtual void received(const Packet& packet, Instant now) = 0;  // by packet.to
};

}  // namespace tfabric::simulation
