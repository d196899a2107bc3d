// A rail over one network port: a NIC owned by DPDK, a kernel interface by AF_PACKET or AF_XDP, a TAP, or a
// memif or vhost-user wire with an explicit socket.
#pragma once

#include <string_view>

#include "transport/engine/turn.h"
#include "transport/rails/rail.h"

namespace tfabric::nic {
class Port;
}

namespace tfabric::rails {

// Says of an address that the rail cannot send to it, whatever the network is like.
inline constexpr std::string_view kInNoNetwork = "is in none of the networks of the rail";

class NicRail final : public Rail {
 public:
  static OpenedRail open(const config::Rail& config, std::span<link::Tcp* const> engines,
                         const link::PortMap& ports, bool announce);

  [[nodiscard]] net::IpAddress address() const override { return address_; }
  [[nodiscard]] std::uint64_t process() const override { return local_ == nullptr ? 0 : local_->process(); }
  Result<Way> way_to(const net::IpAddress& peer, std::uint64_t peer_process) override TF_IN_TURN;
  [[nodiscard]] std::uint32_t mtu() const override;
  [[nodiscard]] bool sends_by_dma() const override;
  [[nodiscard]] link::Link* network() override { return network_; }

 private:
  struct Common;
  static Result<std::unique_ptr<Rail>> open_end(const Common& common, std::uint16_t number,
                                                std::unique_ptr<nic::Port> port);
  NicRail(const config::Rail& config, link::Link* network, link::Link* loop, std::unique_ptr<Rail> local);

  net::IpAddress address_;
  link::Link* network_;
  link::Link* loop_;
  std::unique_ptr<Rail> local_;  // of a rail with a queue subset: local_rail_of(); else null
};

}  // namespace tfabric::rails
