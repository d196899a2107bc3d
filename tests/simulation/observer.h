// What sees every packet of a run: a capture, or a hash that tells two runs apart.
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
