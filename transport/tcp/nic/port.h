// A queue pair of a DPDK ethdev, which takes packets in and out, with the offloads that the driver offers; or
// a pipe (packet_pipe.h), which needs no ethdev. Ports of one device share it and its receive pool, and the
// last one closes it.
//
// A device may ask for a reset, or go, while it is in use. Its ports are closed then, each at its next
// attend(), and open again once the device works again (port_care.h). A closed port has no link, takes no
// packets and has none.
//
// Threads: one at a time uses a port (the engine holds its lock); any thread opens and closes ports. Packets
// are rte_mbuf, which belong to the holder of the pointer.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/address.h"
#include "base/result.h"
#include "base/time.h"
#include "transport/tcp/nic/packet_pipe.h"
#include "transport/tcp/nic/port_capabilities.h"
#include "transport/tcp/nic/rss.h"
#include "transport/tcp/nic/xdp/program.h"

struct rte_mbuf;
struct rte_mempool;

namespace tfabric::nic {

// The most devices that a process can have open at a time: DPDK's RTE_MAX_ETHPORTS. Pipes are none.
inline constexpr std::uint16_t kMostDevices = 32;

struct PortConfig {
  std::string name;  // the rail's name, in messages
  // What to open, as device_arguments.h names it: a NIC ("0000:00:05.0", with the arguments that it has in
  // EalOptions::pci_allow), a virtual device ("net_memif0,role=server,...", "net_tap0,iface=tap0"); or
  // kLoopDevice.
  std::string device;
  std::vector<std::shared_ptr<PacketPipe>> pipes;  // not empty: instead of a device, one for each queue
  std::optional<xdp::QueueSubset> queue_subset;    // of AF_XDP's interface; none: all queues
  std::uint16_t mtu = 1500;                        // at most; a NIC's own limit may be lower: Port::mtu()
  std::uint16_t rx_descriptors = 1024;
  std::uint16_t tx_descriptors = 1024;
  // Buffers of the receive pool for each queue, and the IP packet that one of them holds; 0: `mtu` (both
  // ignored with rx_pool).
  std::uint32_t rx_buffers = 4096;
  std::uint32_t rx_buffer_mtu = 0;
  // Another port's pool to share (for AF_XDP, of make_page_pool()); null: the port gets its own.
  std::shared_ptr<rte_mempool> rx_pool;
};

struct Ethdev;

class Port {
 public:
  static Result<std::unique_ptr<Port>> open(const PortConfig& config);
  // The same with `queues` queue pairs, a port for each; the driver must have as many.
  static Result<std::vector<std::unique_ptr<Port>>> open_queues(const PortConfig& config,
                                                                std::uint16_t queues);
  // Returns how many queue pairs the driver of a device offers. The device need not be open.
  static Result<std::uint16_t> queues_of(const PortConfig& config);
  ~Port();  // the last port of a device stops, closes and removes it
  Port(const Port&) = delete;
  Port& operator=(const Port&) = delete;

  // Fills `out`, and returns the number of packets. A packet that is larger than a buffer of the receive pool
  // is a chain.
  std::uint16_t receive(std::span<rte_mbuf*> out);
  // Takes the first of `packets`, and returns how many; the others stay the caller's. A packet that the
  // driver refuses for good is dropped, and counts as taken.
  std::uint16_t transmit(std::span<rte_mbuf*> packets);
  // Lets the driver free what it has sent. Call it when idle, and before memory is deregistered.
  void reclaim();

  // Closes the port if its device must not be used now, and opens it again later. Call about once a
  // millisecond.
  void attend(Instant now);
  // Why the port is closed: "the NIC asks for a reset"; empty: it is open.
  [[nodiscard]] std::string why_closed() const;
  // The driver has taken nothing for longer than a network stops a NIC. Asks for a reset of the device if its
  // driver leaves that to us; a virtual device may wait for another process, and has no such driver.
  void report_stuck();

  // Returns an empty packet buffer for headers and small payloads (kHeaderRoom bytes); null if the pool is
  // empty.
  rte_mbuf* allocate_header();
  // Returns one for `size` bytes of payload, or the largest that the port has; null if the pool is empty.
  rte_mbuf* allocate_payload(std::size_t size);
  // Returns a buffer without data room of its own, to attach external memory to; null if the pool is empty.
  rte_mbuf* allocate_external();

  [[nodiscard]] bool link_up() const;
  // Why a wire to one process is down, for messages.
  [[nodiscard]] const char* why_down() const;
  // As the driver reports it, in Mbit/s; 0: unknown, as without a link.
  [[nodiscard]] std::uint32_t speed_mbps() const;
  [[nodiscard]] net::MacAddress mac() const;
  [[nodiscard]] std::uint16_t mtu() const;
  [[nodiscard]] const PortCapabilities& capabilities() const;
  [[nodiscard]] const std::shared_ptr<rte_mempool>& rx_pool() const;
  [[nodiscard]] const std::string& name() const;
  [[nodiscard]] std::uint16_t id() const;  // DPDK's port number; kMostDevices: a pipe's
  [[nodiscard]] std::uint16_t queue() const { return queue_; }
  // How the NIC spreads packets over its queues; null if there is one queue, the driver does not say, or the
  // port is closed.
  [[nodiscard]] const Rss* rss() const;

 private:
  Port(std::shared_ptr<Ethdev> device, std::uint16_t queue);
  // As rte_eth_tx_burst(), for packets that the driver takes as they are.
  std::uint16_t burst(std::span<rte_mbuf*> packets);

  std::shared_ptr<Ethdev> device_;
  PacketPipe* pipe_;  // of this queue; null: there is an ethdev
  std::uint16_t queue_;
  bool closed_ = false;  // beside queue_, which each burst reads
};

}  // namespace tfabric::nic
