#include "transport/lane/stream_carrier.h"

#include "transport/lane/stream_lane.h"

namespace tfabric::lane {

std::unique_ptr<Lane> StreamCarrier::open(const engine::Destination& to) {
  engine::Flow* flow = connect(to.address, to.port, nullptr, 0);
  return flow == nullptr ? nullptr : std::make_unique<StreamLane>(*flow);
}

}  // namespace tfabric::lane
