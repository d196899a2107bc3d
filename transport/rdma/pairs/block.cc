#include "transport/rdma/pairs/block.h"

#include "base/wire_codec.h"

namespace tfabric::rdma::pairs {
namespace {

constexpr std::uint8_t kGrhRequired = 1;

// 0 queue pair | 4 PSN | 8 GID | 24 LID | 26 flags | 27 MTU's code | 28 memory's key | 32 memory
// 40 announcements | 48 announcements' key | 52 traffic class | 53 service level | 54 zero
bool lay_out(auto wire, auto& end, auto& flags, auto& mtu) {
  return wire.u32(end.queue_pair.number)
      .u32(end.queue_pair.psn)
      .bytes(end.port.gid)
      .u16(end.port.lid)
      .u8(flags)
      .u8(mtu)
      .u32(end.key)
      .u64(end.memory)
      .u64(end.announcements)
      .u32(end.announcements_key)
      .u8(end.traffic_class)
      .u8(end.service_level)
      .unused(10)
      .done();
}

}  // namespace

PairEndBytes encode(const PairEnd& end) {
  PairEndBytes bytes;
  const std::uint8_t flags = end.port.grh_required ? kGrhRequired : 0;
  const auto mtu = static_cast<std::uint8_t>(end.port.mtu);
  lay_out(WireWriter(bytes), end, flags, mtu);
  return bytes;
}

std::optional<PairEnd> decode_end(std::span<const std::byte> bytes) {
  PairEnd end;
  std::uint8_t flags = 0, mtu = 0;
  constexpr std::uint32_t k24Bits = (1u << 24) - 1;
  if (!lay_out(WireReader(bytes), end, flags, mtu) || end.queue_pair.number > k24Bits ||
      end.queue_pair.psn > k24Bits || mtu < IBV_MTU_256 || mtu > IBV_MTU_4096 || end.service_level > 15) {
    return std::nullopt;
  }
  end.port.grh_required = (flags & kGrhRequired) != 0;
  end.port.mtu = static_cast<ibv_mtu>(mtu);
  return end;
}

}  // namespace tfabric::rdma::pairs
