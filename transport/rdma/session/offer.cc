#include "transport/rdma/session/offer.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cassert>

#include "base/wire_codec.h"
#include "transport/rdma/discovery/discovery.h"
#include "transport/rdma/session/message.h"

namespace tfabric::rdma::session {
namespace {

constexpr std::uint32_t kMax24Bits = (1u << 24) - 1;
constexpr std::uint8_t kMaxServiceLevel = 15;
constexpr std::uint8_t kMaxPrefix = 128;

// --- Fields

void lay_out(auto& wire, WireMessage<OfferedRail> auto& rail) {
  wire.count(rail.hca).bytes(rail.hca).u8(rail.port).u8(rail.link_layer).u64(rail.guid).u16(rail.lid);
  wire.flag(rail.grh_required).bytes(rail.gid).u8(rail.gid_type).u8(rail.prefix_length).u32(rail.mtu);
  wire.u32(rail.speed_mbps).u16(rail.rail_id).u16(rail.plane_id);
  wire.count(rail.queue_pairs);
  for (auto& end : rail.queue_pairs) {
    wire.u32(end.number).u32(end.psn);
  }
  wire.count(rail.keys);
  for (auto& key : rail.keys) {
    wire.u32(key);
  }
}

void lay_out(auto& wire, WireMessage<Offer> auto& offer) {
  auto& options = offer.options;
  wire.u16(options.qps).flag(options.split).u8(options.traffic_class).u8(options.service_level);
  wire.count(offer.rails);
  for (auto& rail : offer.rails) {
    lay_out(wire, rail);
  }
  wire.count(offer.memory);
  for (auto& memory : offer.memory) {
    wire.u64(memory.address).u64(memory.bytes);
  }
}

// --- Validation

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

std::string fault_of(const OfferedRail& rail, std::size_t memories) {
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
  if (rail.queue_pairs.size() > kMaxQueuePairs ||
      std::any_of(rail.queue_pairs.begin(), rail.queue_pairs.end(),
                  [](const QueuePairEnd& end) { return end.number > kMax24Bits || end.psn > kMax24Bits; })) {
    return fmt::format("it has more than {} queue pairs, or numbers of more than 24 bits", kMaxQueuePairs);
  }
  if (rail.keys.size() != (rail.queue_pairs.empty() ? 0 : memories)) {
    return fmt::format("it has {} queue pairs and {} keys for {} pieces of memory", rail.queue_pairs.size(),
                       rail.keys.size(), memories);
  }
  return {};
}

}  // namespace

std::string fault_of(const Offer& offer) {
  if (offer.options.qps == 0 || offer.options.qps > kMaxQueuePairs ||
      offer.options.service_level > kMaxServiceLevel) {
    return fmt::format("{} queue pairs or service level {} is out of range", offer.options.qps,
                       offer.options.service_level);
  }
  if (offer.rails.empty() || offer.rails.size() > kMaxRails || offer.memory.size() > kMaxMemories) {
    return fmt::format("it has {} rails and {} pieces of memory, not 1 to {} and up to {}",
                       offer.rails.size(), offer.memory.size(), kMaxRails, kMaxMemories);
  }
  for (std::size_t i = 0; i < offer.rails.size(); ++i) {
    if (const std::string fault = fault_of(offer.rails[i], offer.memory.size()); !fault.empty()) {
      return fmt::format("rail {}: {}", i, fault);
    }
  }
  return {};
}

std::vector<std::byte> encode(const Offer& offer) {
  assert(fault_of(offer).empty());
  std::vector<std::byte> bytes(kMaxOfferBytes);
  WireWriter wire(bytes);
  lay_out(wire, offer);
  assert(wire.ok());
  bytes.resize(wire.offset());
  return bytes;
}

Result<Offer> parse_offer(std::span<const std::byte> body) {
  WireReader wire(body);
  Offer offer;
  lay_out(wire, offer);
  std::string fault;
  if (!wire.done()) {
    fault = fmt::format("its {} bytes do not match its fields", body.size());
  } else {
    fault = fault_of(offer);
  }
  if (!fault.empty()) {
    return Error{Errc::remote, "the offer is malformed: " + fault};
  }
  return offer;
}

std::string describe(const OfferedRail& rail) {
  return fmt::format(
      "{}:{} ({}, GID {}{}{}{})", rail.hca, rail.port, rdma::to_string(rail.link_layer),
      rdma::to_string(rail.gid),
      rail.link_layer == LinkLayer::ethernet ? fmt::format(", {}", rdma::to_string(rail.gid_type)) : "",
      rail.rail_id < 0 ? "" : fmt::format(", rail {}", rail.rail_id),
      rail.plane_id < 0 ? "" : fmt::format(", plane {}", rail.plane_id));
}

}  // namespace tfabric::rdma::session
