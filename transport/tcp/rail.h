// A rail: one way out of this host, as configured, with the links that carry its traffic.
//
// A NIC's rail has one link to the network, and so has a memif rail with a device. An automatic memif rail
// has one link to each process it talks to, made when first needed. Traffic of a process with itself uses a
// link of its own that loops back.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "config/config.h"
#include "transport/tcp/context.h"
#include "transport/tcp/engine/link.h"
#include "transport/tcp/net/address.h"

namespace tfabric::tcp {

class Rail {
 public:
  virtual ~Rail() = default;
  Rail(const Rail&) = delete;
  Rail& operator=(const Rail&) = delete;

  [[nodiscard]] const config::Rail& config() const { return config_; }
  // The address that peers connect to.
  [[nodiscard]] virtual net::IpAddress address() const = 0;
  // The process that a memif peer names; 0 for a NIC.
  [[nodiscard]] virtual std::uint64_t process() const { return 0; }
  // The link toward a peer. Null: it is being made, ask again. Called with the engine held.
  virtual Result<engine::Link*> link_to(const net::IpAddress& peer, std::uint64_t peer_process) = 0;
  [[nodiscard]] virtual std::uint32_t mtu() const = 0;
  // There is a NIC that is to reach registered memory itself.
  [[nodiscard]] virtual bool sends_by_dma() const { return false; }

 protected:
  explicit Rail(config::Rail config) : config_(std::move(config)) {}

 private:
  config::Rail config_;
};

// Opens a rail; its links belong to the engine. EAL must be running.
Result<std::unique_ptr<Rail>> open_rail(const config::Rail& config, engine::Engine& engine);

// The arguments with which DPDK opens the device of a rail with a network (all but an automatic memif).
[[nodiscard]] std::string device_arguments(const config::Rail& config, std::uint32_t mtu);
// How the driver reads what is sent.
enum class TransmitAccess : std::uint8_t {
  cpu,     // like any code of the process
  dma,     // what has been mapped for it
  shared,  // what DPDK has allocated
};
[[nodiscard]] engine::LinkOptions link_options(const config::Rail& config, TransmitAccess access);
// The MTU a rail uses: the configured one, or what its kind offers.
[[nodiscard]] std::uint32_t effective_mtu(const config::Rail& config);
// Packet buffers for a receive pool: enough bytes for the windows in use, within reason.
[[nodiscard]] std::uint32_t receive_buffers(std::uint32_t mtu);
// A link that gives back what it is given, with the rail's own addresses. Its pool may be shared.
Result<std::unique_ptr<engine::Link>> make_loop_link(const std::string& name,
                                                     const net::InterfaceConfig& interface);

}  // namespace tfabric::tcp
