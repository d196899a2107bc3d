// The kinds of rails, as far as this transport is concerned: one row for each kind.
//
// config/rail_kinds.h has the names and keys, and says what a new kind takes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/address.h"
#include "base/result.h"
#include "config/config.h"
#include "transport/rails/rail.h"
#include "transport/tcp/nic/packet_pipe.h"

namespace tfabric::rails {

// How the driver reads the packets that it sends.
enum class TransmitAccess : std::uint8_t {
  cpu,     // with the CPU: it reaches all memory of the process
  dma,     // by DMA: it reaches what has been mapped for it
  shared,  // from another process: it reaches what DPDK has allocated
};

// NCCL's own value for NICs of unknown speed.
inline constexpr std::uint32_t kUnknownSpeedMbps = 10000;

struct RailKindTraits {
  config::RailKind kind;
  TransmitAccess transmit_access = TransmitAccess::cpu;
  // Whether the port's MAC address is the rail's. If not, the rail takes a random one.
  bool has_own_mac = true;
  // If the configuration sets none. A kernel interface's own MTU comes first.
  std::uint32_t default_mtu = 1500;
  std::uint32_t default_speed_mbps = kUnknownSpeedMbps;
  // The driver reports the speed of its link once the device is open.
  bool driver_reports_speed = false;
  // The rail's network can be tried without a peer. Elsewhere the far end may be a process that starts later.
  bool probed = false;
  // The other end is one process: a link that has gone does not come back (link::LinkOptions).
  bool ends_with_link = false;
  // Processes that see it may have folders of their own for their locks: containers with one network.
  bool in_network_namespace = false;
  // Frames that arrive by a queue without an engine are lost.
  bool needs_engine_per_queue = false;
  // The IP packet that a receive buffer holds; 0: one of the rail's MTU.
  std::uint32_t buffer_mtu = 0;
  // The kernel locks the packet buffers of each queue.
  bool locks_buffers = false;
  // It shares memory by a file that it makes (memfd_create).
  bool memory_file = false;

  // open_rail() of the kind.
  OpenedRail (*open)(const config::Rail& rail, std::span<link::Tcp* const> engines,
                     const link::PortMap& ports, bool announce);

  // The arguments with which DPDK opens the device, with so many queue pairs. Null: there is none for DPDK.
  std::string (*device_arguments)(const config::Rail& rail, std::uint32_t mtu,
                                  std::uint16_t queues) = nullptr;
  // Opens what takes the place of a device, one for each queue pair; `addresses`: the rail's. Null: there is
  // a device, or neither.
  Result<std::vector<std::shared_ptr<nic::PacketPipe>>> (*open_pipes)(
      const config::Rail& rail, const std::vector<net::Prefix>& addresses, std::uint32_t mtu,
      std::uint16_t queues) = nullptr;
  // How many queue pairs the device can have. For a PCI function this asks the driver: EAL must be running.
  Result<std::uint16_t> (*queues)(const config::Rail& rail);
  // The name of the rail's lease: the same text in all processes of the host for the same thing.
  std::string (*lease_name)(const config::Rail& rail);
  // What must be true, or done, before the device is opened for so many engines; may block for seconds.
  // Null: nothing.
  Status (*prepare)(const config::Rail& rail, std::size_t engines) = nullptr;
};

[[nodiscard]] const RailKindTraits& traits_of(config::RailKind kind);

// The rail's speed as configured or, for a kernel's interface, as its driver reports it, of which a subset of
// the queues has its share. 0: unknown before the device is open.
[[nodiscard]] std::uint32_t known_speed_mbps(const config::Rail& rail);

// The MTU that a rail uses: the configured one, or what its kind offers.
[[nodiscard]] std::uint32_t effective_mtu(const config::Rail& rail);
// The IP packet that one of the rail's receive buffers holds.
[[nodiscard]] std::uint32_t buffer_mtu(const config::Rail& rail);

}  // namespace tfabric::rails
