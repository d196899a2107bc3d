#include "offers.h"

#include <arpa/inet.h>

#include <algorithm>

#include "transport/rdma/session/agreement.h"

namespace tfabric::rdma::session {
namespace {

void add_queue_pairs(OfferedRail& rail, std::size_t count, std::size_t memories) {
  for (std::uint32_t i = 0; i < count; ++i) {
    rail.queue_pairs.push_back({.number = 0x10 + i, .psn = 0xffff00 + i});
  }
  for (std::uint32_t i = 0; i < memories; ++i) {
    rail.keys.push_back(0xabcd0000 + i);
  }
}

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

Offer offer_of(std::vector<OfferedRail> rails) {
  return {.options = {.qps = 2, .traffic_class = 106, .service_level = 3},
          .rails = std::move(rails),
          .memory = {{.address = 0x7f0012345678, .bytes = 4096}, {.address = 0x7f0012346678, .bytes = 64}}};
}

Offer with_queue_pairs(Offer offer) {
  for (OfferedRail& rail : offer.rails) {
    add_queue_pairs(rail, offer.options.qps, offer.memory.size());
  }
  return offer;
}

Offer answer_to(Offer own, const Agreement& agreement) {
  for (const RailPair& pair : agreement.rails) {
    add_queue_pairs(own.rails[pair.acceptor], agreement.options.qps, own.memory.size());
  }
  return own;
}

Offer random_offer(SeededRandom& random) {
  constexpr std::uint64_t kSmallestMtu = 256;
  Offer offer = offer_of({});
  offer.options.qps = static_cast<std::uint16_t>(random.between(1, 4));
  const std::uint64_t rails = random.between(1, kMaxRails);
  for (std::uint64_t i = 0; i < rails; ++i) {
    OfferedRail rail = random_rail(random);
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
    offer.rails.push_back(rail);
  }
  return offer;
}

}  // namespace tfabric::rdma::session
