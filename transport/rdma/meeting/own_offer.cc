#include "transport/rdma/meeting/own_offer.h"

#include <algorithm>

namespace tfabric::rdma::meeting {
namespace {

std::uint8_t chosen(int configured, int communicators, int most) {
  return static_cast<std::uint8_t>(std::clamp(configured >= 0 ? configured : communicators, 0, most));
}

}  // namespace

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

std::uint8_t traffic_class_of(int configured, int communicators) {
  return chosen(configured, communicators, 255);
}
// Of 4 bits.
std::uint8_t service_level_of(int configured, int communicators) {
  return chosen(configured, communicators, 15);
}

}  // namespace tfabric::rdma::meeting
