// A rail over an interface that stays the kernel's: its connections are the kernel's own.
#pragma once

#include "host/interfaces.h"
#include "transport/socket/kernel_socket.h"
#include "transport/tcp/rails/rail.h"

namespace tfabric::socket {
class SocketCarrier;
}

namespace tfabric::tcp {

class KernelRail final : public Rail {
 public:
  // Returns one end for each engine, in their order.
  static Result<std::vector<std::unique_ptr<Rail>>> open(const config::Rail& config,
                                                         std::span<engine::Engine* const> engines,
                                                         const socket::SocketLimits& limits);

  [[nodiscard]] net::IpAddress address() const override { return address_; }
  [[nodiscard]] std::uint16_t kernel_port() const override;
  Result<Route> route_to(const net::IpAddress& peer, std::uint64_t peer_process) override;
  [[nodiscard]] std::uint32_t mtu() const override { return mtu_; }

 private:
  KernelRail(const config::Rail& config, const net::IpAddress& address, std::uint32_t mtu,
             socket::SocketCarrier* carrier);

  net::IpAddress address_;
  std::uint32_t mtu_;
  socket::SocketCarrier* carrier_;  // the engine's
};

// Returns the address of the interface that peers are to connect to: the configured one, otherwise the first
// of IPv4, otherwise the first of IPv6 that is not of the link alone. An error says what there is.
Result<net::IpAddress> kernel_address(const config::Rail& config,
                                      const std::vector<host::LocalAddress>& addresses);

// Returns a kernel rail for each interface that ranks are to use without further configuration, by the rules
// of NCCL_SOCKET_IFNAME (bootstrap/addresses.h).
[[nodiscard]] std::vector<config::Rail> kernel_rails(const config::Rdma& wishes,
                                                     const std::vector<host::LocalAddress>& addresses);
// Why a process has no TCP rail, and how it gets one.
[[nodiscard]] Error no_rails(const config::Config& config, const std::vector<host::LocalAddress>& addresses);

}  // namespace tfabric::tcp
