#include "transport/rails/rail.h"

#include "transport/rails/rail_kinds.h"
#include "transport/tcp/link/tcp.h"

namespace tfabric::rails {

std::shared_ptr<engine::Rehearsal> Rail::rehearsal() {
  return network() == nullptr ? nullptr : network()->options().rehearsal;
}

OpenedRail open_rail(const config::Rail& config, std::span<link::Tcp* const> engines,
                     const link::PortMap& ports, bool announce) {
  return traits_of(config.kind).open(config, engines, ports, announce);
}

}  // namespace tfabric::rails
