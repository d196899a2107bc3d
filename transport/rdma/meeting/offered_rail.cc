#include "transport/rdma/meeting/offered_rail.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "transport/rdma/discovery/discovery.h"

namespace tfabric::rdma::meeting {
namespace {

constexpr std::uint8_t kMaxPrefix = 128;

bool is_printable(const std::string& text) {
  return std::all_of(text.begin(), text.end(), [](char c) { return c > ' ' && c < 0x7f; });
}

bool is_known_link(const OfferedRail& rail) {
  switch (rail.link_layer) {
    case LinkLayer::infiniband:
      return rail.gid_type == GidType::infiniband;
    case LinkLayer::ethernet:
      return rail.gid_type == GidType::roce_v1 || rail.gid_type == GidType::roce_v2;
    case LinkLayer::unspecified:
      break;
  }
  return false;
}

bool is_mtu(std::uint32_t mtu) {
  constexpr std::array<std::uint32_t, 5> kMtus{256, 512, 1024, 2048, 4096};
  return std::find(kMtus.begin(), kMtus.end(), mtu) != kMtus.end();
}

std::string fault_of_one(const OfferedRail& rail) {
  if (rail.hca.empty() || rail.hca.size() > kMaxHcaName || !is_printable(rail.hca) || rail.port == 0) {
    return "its name is not that of an HCA and a port";
  }
  if (!is_known_link(rail)) {
    return fmt::format("link layer {} does not go with a GID of type {}", static_cast<int>(rail.link_layer),
                       static_cast<int>(rail.gid_type));
  }
  if (rail.prefix_length > kMaxPrefix || !is_mtu(rail.mtu) || rail.rail_id < -1 || rail.plane_id < -1) {
    return fmt::format("prefix length {}, MTU {}, rail {} or plane {} is invalid", rail.prefix_length,
                       rail.mtu, rail.rail_id, rail.plane_id);
  }
  return {};
}

}  // namespace

std::string fault_of(std::span<const OfferedRail> rails) {
  if (rails.empty() || rails.size() > kMaxRails) {
    return fmt::format("there are {} rails, not 1 to {}", rails.size(), kMaxRails);
  }
  for (std::size_t i = 0; i < rails.size(); ++i) {
    if (const std::string fault = fault_of_one(rails[i]); !fault.empty()) {
      return fmt::format("rail {}: {}", i, fault);
    }
  }
  return {};
}

std::string describe(const OfferedRail& rail) {
  return fmt::format(
      "{}:{} ({}, GID {}{}{}{})", rail.hca, rail.port, rdma::to_string(rail.link_layer),
      rdma::to_string(rail.gid),
      rail.link_layer == LinkLayer::ethernet ? fmt::format(", {}", rdma::to_string(rail.gid_type)) : "",
      rail.rail_id < 0 ? "" : fmt::format(", rail {}", rail.rail_id),
      rail.plane_id < 0 ? "" : fmt::format(", plane {}", rail.plane_id));
}

}  // namespace tfabric::rdma::meeting
