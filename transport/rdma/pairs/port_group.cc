#include "transport/rdma/pairs/port_group.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "base/wire_codec.h"
#include "transport/rdma/meeting/agreement.h"

namespace tfabric::rdma::pairs {
namespace {

constexpr std::size_t kNameBytes = meeting::kMaxHcaName;
constexpr std::size_t kTextBytes = 44 + kNameBytes;
static_assert(kTextBytes <= lane::kMaxRailText);

// 0 link layer | 1 GID's type | 2 prefix length | 3 port | 4 LID | 6 GRH required | 7 zero | 8 guid | 16 GID
// 32 MTU | 36 speed | 40 rail | 42 plane | 44 HCA's name
bool lay_out(auto wire, auto& rail, auto& link_layer, auto& gid_type, auto& grh, auto& ids) {
  return wire.u8(link_layer)
      .u8(gid_type)
      .u8(rail.prefix_length)
      .u8(rail.port)
      .u16(rail.lid)
      .u8(grh)
      .unused(1)
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
std::optional<meeting::OfferedRail> decode(std::span<const std::byte> text) {
  meeting::OfferedRail rail;
  std::uint8_t link_layer = 0, gid_type = 0, grh = 0;
  std::array<std::uint16_t, 2> ids{};
  if (!lay_out(WireReader(text), rail, link_layer, gid_type, grh, ids)) {
    return std::nullopt;
  }
  rail.link_layer = static_cast<LinkLayer>(link_layer);
  rail.gid_type = static_cast<GidType>(gid_type);
  rail.grh_required = grh != 0;
  rail.rail_id = static_cast<std::int16_t>(ids[0]);
  rail.plane_id = static_cast<std::int16_t>(ids[1]);
  return rail;
}

// To the first of the peer's rails that the port can talk to. If there is none, as it is: both ends then say
// what they have.
PortWays::Way way_to_any(PortWays& ways, std::span<const meeting::OfferedRail> peers) {
  for (const meeting::OfferedRail& peer : peers) {
    if (auto way = ways.way_to({.gid = peer.gid, .type = peer.gid_type})) {
      return *way;
    }
  }
  return ways.usual();
}

}  // namespace

// What is registered with all ports, by rail.
class PortGroup::Registered final : public lane::RegisteredMemory {
 public:
  explicit Registered(std::vector<Port> ports) : ports_(std::move(ports)) {}
  ~Registered() override {
    for (std::size_t i = 0; i < leases_.size(); ++i) {
      if (leases_[i].mr != nullptr) {
        ports_[i].registrations->release(leases_[i]);
      }
    }
  }
  Status acquire(const lane::MemoryToRegister& memory) {
    const auto dmabuf =
        memory.dmabuf ? std::optional(DmaBuf{memory.dmabuf->offset, memory.dmabuf->fd}) : std::nullopt;
    for (std::size_t i = 0; i < ports_.size(); ++i) {
      auto lease = ports_[i].registrations->acquire(memory.data, memory.size, memory.kind, dmabuf);
      if (!lease) {
        return Error{lease.error().code,
                     fmt::format("{}: {}", ports_[i].carrier->name(), lease.error().message)};
      }
      leases_[i] = *lease;
      keys_[i] = leases_[i].mr->rkey;
    }
    return {};
  }
  [[nodiscard]] std::uint32_t local_key(std::size_t rail) const { return leases_[rail].mr->lkey; }

 private:
  std::vector<Port> ports_;
  std::array<RegistrationCache::Lease, lane::kMaxKeys> leases_;
};

std::optional<std::uint32_t> PortGroup::Memory::key_of(void* owner) const {
  if (owner == nullptr) {
    return std::nullopt;
  }
  return static_cast<const Registered*>(static_cast<const lane::RegisteredMemory*>(owner))->local_key(rail);
}

Result<std::unique_ptr<lane::RegisteredMemory>> PortGroup::register_memory(
    const lane::MemoryToRegister& memory) {
  const auto begin = reinterpret_cast<std::uintptr_t>(memory.data);
  if ((memory.data == nullptr && memory.size > 0) ||
      memory.size > std::numeric_limits<std::uintptr_t>::max() / 2 - begin) {
    return Error{
        Errc::invalid_argument,
        fmt::format("registration of {} bytes at {}: there is no such memory", memory.size, memory.data)};
  }
  auto registered = std::make_unique<Registered>(ports_);
  if (Status acquired = registered->acquire(memory); !acquired) {
    return acquired.error();
  }
  return std::unique_ptr<lane::RegisteredMemory>(std::move(registered));
}

std::vector<std::byte> PortGroup::describe(std::size_t rail) const {
  const meeting::OfferedRail about = ports_[rail].ways->usual().about;
  std::vector<std::byte> text(kTextBytes);
  const auto link_layer = static_cast<std::uint8_t>(about.link_layer);
  const auto gid_type = static_cast<std::uint8_t>(about.gid_type);
  const std::uint8_t grh = about.grh_required ? 1 : 0;
  const std::array ids{static_cast<std::uint16_t>(about.rail_id), static_cast<std::uint16_t>(about.plane_id)};
  lay_out(WireWriter(text), about, link_layer, gid_type, grh, ids);
  return text;
}

// The peer has chosen its GIDs without knowing ours, so ours follow them.
Result<std::vector<std::optional<lane::RailMeeting>>> PortGroup::meet(
    std::span<const std::vector<std::byte>> theirs) const {
  std::vector<meeting::OfferedRail> ours, peers;
  for (const std::vector<std::byte>& text : theirs) {
    peers.push_back(decode(text).value_or(meeting::OfferedRail{}));
  }
  if (const std::string fault = meeting::fault_of(peers); !fault.empty()) {
    return Error{Errc::remote, "what the peer says of its RDMA rails is malformed: " + fault};
  }
  std::vector<std::size_t> ways;
  for (const Port& port : ports_) {
    PortWays::Way way = way_to_any(*port.ways, peers);
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
