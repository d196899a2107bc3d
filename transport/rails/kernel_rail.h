// A rail over an interface that stays the kernel's: its connections are the kernel's own.
#pragma once

#include "host/interfaces.h"
#include "transport/engine/turn.h"
#include "transport/rails/rail.h"

namespace tfabric::socket {
class SocketCarrier;
}

namespace tfabric::rails {

class KernelRail final : public Rail {
 public:
  static OpenedRail open(const config::Rail& config, std::span<link::Tcp* const> engines,
                         const link::PortMap& ports, bool announce);

  [[nodiscard]] net::IpAddress address() const override { return address_; }
  [[nodiscard]] std::uint16_t listening_port() const override;
  Result<Way> way_to(const net::IpAddress& peer, std::uint64_t peer_process) override TF_IN_TURN;
  [[nodiscard]] std::uint32_t mtu() const override { return mtu_; }
  void stand_beside() override TF_IN_TURN;

 private:
  KernelRail(const config::Rail& config, const net::IpAddress& address, std::uint32_t mtu,
             socket::SocketCarrier* carrier);

  net::IpAddress address_;
  std::uint32_t mtu_;
  socket::SocketCarrier* carrier_;  // the engine's
};

// Gives each kernel rail whose addresses are not configured those that its interface offers
// (bootstrap/addresses.h): one, or one of each family.
void address_kernel_rails(config::Config& config, std::span<const host::LocalAddress> addresses);

// Returns the addresses of a kernel rail, with their networks as the kernel has them. An error says what
// there is.
Result<std::vector<net::Prefix>> kernel_networks(const config::Rail& config,
                                                 std::span<const host::LocalAddress> addresses);

// Returns a kernel rail for each interface that is offered without further configuration
// (bootstrap/addresses.h).
[[nodiscard]] std::vector<config::Rail> kernel_rails(const config::Rdma& wishes,
                                                     std::span<const host::LocalAddress> addresses);
// Why a process has no TCP rail, and how it gets one.
[[nodiscard]] Error no_rails(const config::Config& config, const std::vector<host::LocalAddress>& addresses);

}  // namespace tfabric::rails
