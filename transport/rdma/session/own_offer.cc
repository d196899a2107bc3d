#include "transport/rdma/session/own_offer.h"

#include <algorithm>

namespace tfabric::rdma::session {

OfferedRail rail_of(const Hca& hca, const Port& port, const GidEntry& gid, const config::Rdma& wishes) {
  return {.hca = hca.name,
          .port = port.number,
          .link_layer = port.link_layer,
          .guid = hca.guid,
          .lid = port.lid,
          .grh_required = port.grh_required,
          .gid = gid.gid,
          .gid_type = gid.type,
          .prefix_length = static_cast<std::uint8_t>(gid.prefix_length),
          .mtu = wishes.mtu == 0 ? port.mtu : std::min(port.mtu, wishes.mtu),
          .speed_mbps = port.speed_mbps,
          .rail_id = port.rail_id,
          .plane_id = port.plane_id};
}

OfferOptions options_of(const config::Rdma& wishes, int traffic_class) {
  // NCCL's order of precedence: the configuration, the communicator, 0. A service level has 4 bits.
  constexpr int kMaxTrafficClass = 255, kMaxServiceLevel = 15;
  const int traffic = wishes.traffic_class >= 0 ? wishes.traffic_class : traffic_class;
  const int level = wishes.service_level >= 0 ? wishes.service_level : traffic_class;
  return {.qps = static_cast<std::uint16_t>(wishes.qps),
          .split = wishes.split,
          .traffic_class = static_cast<std::uint8_t>(std::clamp(traffic, 0, kMaxTrafficClass)),
          .service_level = static_cast<std::uint8_t>(std::clamp(level, 0, kMaxServiceLevel))};
}

}  // namespace tfabric::rdma::session
