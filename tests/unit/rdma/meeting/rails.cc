#include "rails.h"

#include <arpa/inet.h>

#include <algorithm>

#include "transport/rdma/meeting/agreement.h"

namespace tfabric::rdma::meeting {
namespace {

OfferedRail random_rail(SeededRandom& random) {
  const std::string host = std::to_string(random.between(1, 250));
  const std::string subnet = std::to_string(random.between(0, 2));
  const std::string hca = "mlx5_" + host;
  if (random.chance(0.4)) {
    return infiniband_rail(hca, "fe80:0:0:" + subnet + "::");
  }
  return roce_rail(hca,
                   random.chance(0.7) ? "10.0." + subnet + "." + host : "fd00:0:0:" + subnet + "::" + host);
}

}  // namespace

config::IpBytes ip(const std::string& text) {
  config::IpBytes bytes{};
  inet_pton(AF_INET6, (text.find(':') == std::string::npos ? "::ffff:" + text : text).c_str(), bytes.data());
  return bytes;
}

OfferedRail roce_rail(const std::string& hca, const std::string& address) {
  constexpr std::uint8_t kPrefix4 = 120, kPrefix6 = 64;
  OfferedRail rail{
      .hca = hca, .guid = 0x506b4b0300aabbcc, .gid = ip(address), .mtu = 4096, .speed_mbps = 100000};
  rail.prefix_length = is_ipv4(rail.gid) ? kPrefix4 : kPrefix6;
  return rail;
}

OfferedRail infiniband_rail(const std::string& hca, const std::string& subnet) {
  OfferedRail rail{.hca = hca,
                   .link_layer = LinkLayer::infiniband,
                   .guid = 0x506b4b0300aabbcc,
                   .lid = 7,
                   .gid = ip(subnet),
                   .gid_type = GidType::infiniband,
                   .prefix_length = 64,
                   .mtu = 4096};
  rail.gid.back() = 9;
  return rail;
}

OfferedRail with_rail_id(OfferedRail rail, std::int16_t rail_id) {
  rail.rail_id = rail_id;
  return rail;
}

std::vector<OfferedRail> random_rails(SeededRandom& random) {
  constexpr std::uint64_t kSmallestMtu = 256;
  std::vector<OfferedRail> rails(random.between(1, kMaxRails));
  for (OfferedRail& rail : rails) {
    rail = random_rail(random);
    rail.mtu = static_cast<std::uint32_t>(kSmallestMtu << random.between(0, 4));
    if (rail.link_layer == LinkLayer::ethernet && random.chance(0.3)) {
      rail.gid_type = GidType::roce_v1;
    }
    if (random.chance(0.2)) {
      rail.prefix_length = 0;
    }
    if (random.chance(0.5)) {
      rail.rail_id = static_cast<std::int16_t>(random.between(0, 3));
      rail.plane_id = static_cast<std::int16_t>(random.chance(0.8) ? -1 : 1);
    }
  }
  return rails;
}

}  // namespace tfabric::rdma::meeting
