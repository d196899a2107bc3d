// A rail: one way out of this host, as configured, with the links that carry its traffic.
//
// A NIC's rail has one link to the network, and so has a memif rail with a device. An automatic memif rail
// has one link to each process that it talks to, made when first needed. A process talks to itself over a
// link of its own that loops back.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/address.h"
#include "base/result.h"
#include "config/config.h"
#include "transport/engine/rehearsal.h"
#include "transport/engine/turn.h"
#include "transport/lane/stream_carrier.h"

namespace tfabric::link {
class Link;
class PortMap;
class Tcp;
}  // namespace tfabric::link

namespace tfabric::rails {

// The way to a peer: the carrier, and the peer's address there. The carrier is null while it is being made;
// ask again.
struct Way {
  lane::StreamCarrier* carrier = nullptr;
  net::IpAddress remote;
};

// One engine's end of a rail.
class Rail {
 public:
  virtual ~Rail() = default;
  Rail(const Rail&) = delete;
  Rail& operator=(const Rail&) = delete;

  [[nodiscard]] const config::Rail& config() const { return config_; }
  // The address that peers connect to.
  [[nodiscard]] virtual net::IpAddress address() const = 0;
  // The port at which it takes connections, if it has one of its own; 0: the port of our own TCP.
  [[nodiscard]] virtual std::uint16_t listening_port() const { return 0; }
  // The number by which peers on this host name the process; 0: they do not.
  [[nodiscard]] virtual std::uint64_t process() const { return 0; }
  // To a peer with this address.
  virtual Result<Way> way_to(const net::IpAddress& peer, std::uint64_t peer_process) TF_IN_TURN = 0;
  [[nodiscard]] virtual std::uint32_t mtu() const = 0;
  // The link to the network; null if links are made for each peer.
  [[nodiscard]] virtual link::Link* network() { return nullptr; }
  // Returns true if the process has started without the rail: there is no route over it.
  [[nodiscard]] virtual bool absent() const { return false; }
  // What is rehearsed on its links; null: nothing can be.
  [[nodiscard]] virtual std::shared_ptr<engine::Rehearsal> rehearsal();
  // It carries only what the peers of others' lanes say: it is looked at once a millisecond while nothing
  // moves there.
  virtual void stand_beside() TF_IN_TURN {}
  // Returns true if a NIC reads registered memory by DMA.
  [[nodiscard]] virtual bool sends_by_dma() const { return false; }

 protected:
  explicit Rail(config::Rail config) : config_(std::move(config)) {}

 private:
  config::Rail config_;
};

// One end for each engine, in the engines' order.
using OpenedRail = Result<std::vector<std::unique_ptr<Rail>>>;

// Opens a rail for the process's engines, among which `ports` are divided: what it makes belongs to the
// engines. EAL must be running. `announce`: tell the network the rail's addresses at once;
// if not, the caller does it after a probe has shown that no other host has them (rail_probe.h).
OpenedRail open_rail(const config::Rail& config, std::span<link::Tcp* const> engines,
                     const link::PortMap& ports, bool announce = true);

}  // namespace tfabric::rails
