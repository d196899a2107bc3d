// A carrier of byte streams: its lanes are records on flows (stream_lane.h).
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

#include "base/address.h"
#include "transport/engine/carrier.h"
#include "transport/engine/flow.h"
#include "transport/engine/turn.h"

namespace tfabric::lane {

class StreamCarrier : public engine::Carrier {
 public:
  using Carrier::Carrier;

  std::unique_ptr<Lane> open(const engine::Destination& to) final TF_IN_TURN;
  // Opens a connection. Returns null if the carrier has no address of the destination's family or no port is
  // free. `handler` and `index`: see engine::Flow::set_handler().
  virtual engine::Flow* connect(const net::IpAddress& remote, std::uint16_t port,
                                engine::FlowHandler* handler, std::size_t index) TF_IN_TURN = 0;
};

}  // namespace tfabric::lane
