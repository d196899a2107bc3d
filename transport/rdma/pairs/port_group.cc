#include "transport/rdma/pairs/port_group.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "base/log.h"
#include "base/wire_codec.h"
#include "transport/rdma/meeting/agreement.h"

namespace tfabric::rdma::pairs {
namespace {

constexpr std::size_t kNameBytes = meeting::kMaxHcaName;
constexpr std::size_t kTextBytes = 44 + kNameBytes;
static_assert(kTextBytes <= lane::kMaxRailText);

// 0 link layer | 1 GID's type | 2 prefix length | 3 port | 4 LID | 6 GRH required | 7 in reserve | 8 guid |
// 16 GID 32 MTU | 36 speed | 40 rail | 42 plane | 44 HCA's name
bool lay_out(auto wire, auto& rail, auto& link_layer, auto& gid_type, auto& grh, auto& reserve, auto& ids) {
  return wire.u8(link_layer)
      .u8(gid_type)
      .u8(rail.prefix_length)
      .u8(rail.port)
      .u16(rail.lid)
      .u8(grh)
      .u8(reserve)
      .u64(rail.guid)
      .bytes(rail.gid)
      .u32(rail.mtu)
      .u32(rail.speed_mbps)
      .u16(ids[0])
      .u16(ids[1])
      .text(rail.hca, kNameBytes)
      .done();
}

// As far as it is readable: meeting::fault_of() says whether it is right.
meeting::OfferedRail decode(std::span<const std::byte> text) {
  meeting::OfferedRail rail;
  std::uint8_t link_layer = 0, gid_type = 0, grh = 0, reserve = 0;
  std::array<std::uint16_t, 2> ids{};
  if (!lay_out(WireReader(text), rail, link_layer, gid_type, grh, reserve, ids)) {
    return {};
  }
  rail.link_layer = static_cast<LinkLayer>(link_layer);
  rail.gid_type = static_cast<GidType>(gid_type);
  rail.grh_required = grh != 0;
  rail.in_reserve = reserve != 0;
  rail.rail_id = static_cast<std::int16_t>(ids[0]);
  rail.plane_id = static_cast<std::int16_t>(ids[1]);
  return rail;
}

// To the first of the peer's rails that the port can talk to. If there is none, as it is: both ends then say
// what they have.
PortWays::Way way_to_any(const PortGroup::Port& port, std::span<const meeting::OfferedRail> peers) {
  std::optional<PortWays::Way> way;
  for (std::size_t i = 0; i < peers.size() && !way; ++i) {
    if (peers[i].in_reserve == port.in_reserve) {
      way = port.ways->way_to({.gid = peers[i].gid, .type = peers[i].gid_type});
    }
  }
  way = way ? way : port.ways->usual();
  way->about.in_reserve = port.in_reserve;
  return *way;
}

}  // namespace

void PortGroup::add(const Port& port) {
  ports_.push_back(port);
  memory_.add(port.ways->rail(port.ways->usual().number).name, port.registrations, port.in_reserve);
}

// The control thread makes queue pairs, too, one job after the other.
bool PortGroup::prepare(std::size_t rail) {
  if (ports_[rail].in_reserve && stages_[rail] == Stage::unused) {
    stages_[rail] = Stage::used;
    memory_.enlist(rail);
    ports_[rail].carrier->run(
        [this, rail] {
          const Status registered = memory_.register_earlier(rail);
          if (!registered) {
            TF_WARN("NET/tfabric: {}; the rail cannot stand in for others", registered.error().message);
          }
          return registered ? 0 : -1;
        },
        [this, rail](int returned) TF_IN_TURN {
          memory_.publish(rail);
          stages_[rail] = returned == 0 ? Stage::used : Stage::useless;
        });
  }
  return stages_[rail] != Stage::useless;
}

std::vector<std::byte> PortGroup::describe(std::size_t rail) const {
  const meeting::OfferedRail about = ports_[rail].ways->usual().about;
  std::vector<std::byte> text(kTextBytes);
  const auto link_layer = static_cast<std::uint8_t>(about.link_layer);
  const auto gid_type = static_cast<std::uint8_t>(about.gid_type);
  const std::uint8_t grh = about.grh_required ? 1 : 0, reserve = ports_[rail].in_reserve ? 1 : 0;
  const std::array ids{static_cast<std::uint16_t>(about.rail_id), static_cast<std::uint16_t>(about.plane_id)};
  lay_out(WireWriter(text), about, link_layer, gid_type, grh, reserve, ids);
  return text;
}

// The peer has chosen its GIDs without knowing ours, so ours follow them.
Result<std::vector<std::optional<lane::RailMeeting>>> PortGroup::meet(
    std::span<const std::vector<std::byte>> theirs) const {
  std::vector<meeting::OfferedRail> ours, peers;
  for (const std::vector<std::byte>& text : theirs) {
    peers.push_back(decode(text));
  }
  if (const std::string fault = meeting::fault_of(peers); !fault.empty()) {
    return Error{Errc::remote, "what the peer says of its RDMA rails is malformed: " + fault};
  }
  std::vector<std::size_t> ways;
  for (const Port& port : ports_) {
    PortWays::Way way = way_to_any(port, peers);
    ways.push_back(way.number);
    ours.push_back(std::move(way.about));
  }
  const auto pairs = meeting::agree(ours, peers);
  if (!pairs) {
    return pairs.error();
  }
  std::vector<std::optional<lane::RailMeeting>> meetings(ports_.size());
  for (const meeting::RailPair& pair : *pairs) {
    const meeting::OfferedRail& partner = peers[pair.acceptor];
    const auto way = ports_[pair.connector].ways->way_to({.gid = partner.gid, .type = partner.gid_type});
    meetings[pair.connector] = {.theirs = pair.acceptor, .way = way ? way->number : ways[pair.connector]};
  }
  return meetings;
}

}  // namespace tfabric::rdma::pairs
