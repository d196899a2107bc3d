#include "transport/rdma/session/offer.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cassert>

#include "transport/rdma/discovery/discovery.h"
#include "transport/rdma/session/message.h"

namespace tfabric::rdma::session {
namespace {

constexpr std::uint32_t kMax24Bits = (1u << 24) - 1;
constexpr std::uint8_t kMaxServiceLevel = 15;
constexpr std::uint8_t kMaxPrefix = 128;
constexpr std::uint8_t kSplitFlag = 1;
constexpr std::uint8_t kGrhFlag = 1;  // of a rail

// --- Fields

void put(ByteWriter& writer, const OfferedRail& rail) {
  writer.put_text(rail.hca);
  writer.put(rail.port);
  writer.put(static_cast<std::uint8_t>(rail.link_layer));
  writer.put(rail.guid);
  writer.put(rail.lid);
  writer.put(static_cast<std::uint8_t>(rail.grh_required ? kGrhFlag : 0));
  writer.put_bytes(std::as_bytes(std::span(rail.gid)));
  writer.put(static_cast<std::uint8_t>(rail.gid_type));
  writer.put(rail.prefix_length);
  writer.put(rail.mtu);
  writer.put(rail.speed_mbps);
  writer.put(static_cast<std::uint16_t>(rail.rail_id));
  writer.put(static_cast<std::uint16_t>(rail.plane_id));
  writer.put(static_cast<std::uint8_t>(rail.queue_pairs.size()));
  for (const QueuePairEnd& end : rail.queue_pairs) {
    writer.put(end.number);
    writer.put(end.psn);
  }
  writer.put(static_cast<std::uint8_t>(rail.keys.size()));
  for (const std::uint32_t key : rail.keys) {
    writer.put(key);
  }
}

OfferedRail get_rail(ByteReader& reader) {
  OfferedRail rail;
  rail.hca = reader.get_text();
  rail.port = reader.get<std::uint8_t>();
  rail.link_layer = static_cast<LinkLayer>(reader.get<std::uint8_t>());
  rail.guid = reader.get<std::uint64_t>();
  rail.lid = reader.get<std::uint16_t>();
  const auto flags = reader.get<std::uint8_t>();
  rail.grh_required = flags == kGrhFlag;
  if (flags > kGrhFlag) {
    reader.refuse();
  }
  const auto gid = reader.get_bytes(rail.gid.size());
  std::transform(gid.begin(), gid.end(), rail.gid.begin(),
                 [](std::byte byte) { return std::to_integer<std::uint8_t>(byte); });
  rail.gid_type = static_cast<GidType>(reader.get<std::uint8_t>());
  rail.prefix_length = reader.get<std::uint8_t>();
  rail.mtu = reader.get<std::uint32_t>();
  rail.speed_mbps = reader.get<std::uint32_t>();
  rail.rail_id = static_cast<std::int16_t>(reader.get<std::uint16_t>());
  rail.plane_id = static_cast<std::int16_t>(reader.get<std::uint16_t>());
  rail.queue_pairs.resize(reader.get<std::uint8_t>());
  for (QueuePairEnd& end : rail.queue_pairs) {
    end.number = reader.get<std::uint32_t>();
    end.psn = reader.get<std::uint32_t>();
  }
  rail.keys.resize(reader.get<std::uint8_t>());
  for (std::uint32_t& key : rail.keys) {
    key = reader.get<std::uint32_t>();
  }
  return rail;
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
  ByteWriter writer;
  writer.put(offer.options.qps);
  writer.put(static_cast<std::uint8_t>(offer.options.split ? kSplitFlag : 0));
  writer.put(offer.options.traffic_class);
  writer.put(offer.options.service_level);
  writer.put(static_cast<std::uint8_t>(offer.rails.size()));
  for (const OfferedRail& rail : offer.rails) {
    put(writer, rail);
  }
  writer.put(static_cast<std::uint8_t>(offer.memory.size()));
  for (const OfferedMemory& memory : offer.memory) {
    writer.put(memory.address);
    writer.put(memory.bytes);
  }
  return writer.take();
}

Result<Offer> parse_offer(std::span<const std::byte> body) {
  ByteReader reader(body);
  Offer offer;
  offer.options.qps = reader.get<std::uint16_t>();
  const auto flags = reader.get<std::uint8_t>();
  offer.options.split = flags == kSplitFlag;
  offer.options.traffic_class = reader.get<std::uint8_t>();
  offer.options.service_level = reader.get<std::uint8_t>();
  const auto rails = reader.get<std::uint8_t>();
  for (std::size_t i = 0; i < rails && reader.ok(); ++i) {
    offer.rails.push_back(get_rail(reader));
  }
  const auto memories = reader.get<std::uint8_t>();
  for (std::size_t i = 0; i < memories && reader.ok(); ++i) {
    OfferedMemory& memory = offer.memory.emplace_back();
    memory.address = reader.get<std::uint64_t>();
    memory.bytes = reader.get<std::uint64_t>();
  }
  std::string fault;
  if (!reader.ok() || !reader.at_end() || flags > kSplitFlag) {
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
