// A rail: one way out of this host, as configured, with the links that carry its traffic.
//
// A NIC's rail has one link to the network, and so has a memif rail with a device. An automatic memif rail
// has one link to each process it talks to, made when first needed. Traffic of a process with itself uses a
// link of its own that loops back.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "config/config.h"
#include "transport/tcp/comm/context.h"
#include "transport/tcp/engine/link.h"
#include "transport/tcp/net/address.h"

namespace tfabric::tcp {

// To a peer: the link, and the address that the peer has there. No link: it is being made, ask again.
struct Route {
  engine::Link* link = nullptr;
  net::IpAddress remote;
};

class Rail {
 public:
  virtual ~Rail() = default;
  Rail(const Rail&) = delete;
  Rail& operator=(const Rail&) = delete;

  [[nodiscard]] const config::Rail& config() const { return config_; }
  // The address that peers connect to.
  [[nodiscard]] virtual net::IpAddress address() const = 0;
  // The process that a peer on this host names; 0: none does.
  [[nodiscard]] virtual std::uint64_t process() const { return 0; }
  // Toward a peer that has this address. Called with the engine held.
  virtual Result<Route> route_to(const net::IpAddress& peer, std::uint64_t peer_process) = 0;
  [[nodiscard]] virtual std::uint32_t mtu() const = 0;
  // The link to the network, if there is one from the beginning.
  [[nodiscard]] virtual engine::Link* network() { return nullptr; }
  // There is a NIC that is to reach registered memory itself.
  [[nodiscard]] virtual bool sends_by_dma() const { return false; }

 protected:
  explicit Rail(config::Rail config) : config_(std::move(config)) {}

 private:
  config::Rail config_;
};

// Opens a rail for the engines of the process, which `ports` are shared out to: one Rail each, whose links
// belong to the engine. EAL must be running. `announce`: tell the network the rail's addresses; else whoever
// opens it does, once it has found out that nobody else has them (rail_probe.h).
Result<std::vector<std::unique_ptr<Rail>>> open_rail(const config::Rail& config,
                                                     std::span<engine::Engine* const> engines,
                                                     const engine::PortMap& ports, bool announce = true);
// For how many engines it can be opened. Of a NIC, its driver is asked: EAL must be running.
Result<std::uint16_t> queues_of(const config::Rail& config);

// The arguments with which DPDK opens the device of a rail with a network (all but an automatic memif), with
// so many queue pairs.
[[nodiscard]] std::string device_arguments(const config::Rail& config, std::uint32_t mtu,
                                           std::uint16_t queues);
// How the driver reads what is sent.
enum class TransmitAccess : std::uint8_t {
  cpu,     // like any code of the process
  dma,     // what has been mapped for it
  shared,  // what DPDK has allocated
};
// `share`: what the connections of all its links in one engine share.
[[nodiscard]] engine::LinkOptions link_options(const config::Rail& config, TransmitAccess access,
                                               std::shared_ptr<stack::ReceiveShare> share);
// For each of `engines`, which divide what is the rail's.
[[nodiscard]] std::shared_ptr<stack::ReceiveShare> make_receive_share(const config::Rail& config,
                                                                      std::size_t engines);
// The MTU a rail uses: the configured one, or what its kind offers.
[[nodiscard]] std::uint32_t effective_mtu(const config::Rail& config);
// Packet buffers for a receive pool: enough bytes for the windows in use, within reason.
[[nodiscard]] std::uint32_t receive_buffers(std::uint32_t mtu);
// A link that gives back what it is given, with the rail's own addresses. Engines reach each other by what
// `member` names. `pool`: of a port with at least this MTU, shared with it; null: an own one.
Result<std::unique_ptr<engine::Link>> make_loop_link(const std::string& name,
                                                     const net::InterfaceConfig& interface,
                                                     engine::ExchangeMember member = {},
                                                     std::shared_ptr<rte_mempool> pool = nullptr);

}  // namespace tfabric::tcp
