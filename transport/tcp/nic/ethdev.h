// A DPDK ethdev that is open: its driver, queues, packet pools and, for AF_XDP, the redirect of its
// interface; or a pipe with its pools, which needs no ethdev. Ports share it; the last one closes it.
//
// A device that is reset, or comes back after it was removed, keeps its pools, because engines hold packets
// of them, and all that its links rely on: capabilities, MAC address, number of queues. One that comes back
// with less is not used.
#pragma once

#include <cstddef>
#include <functional>
#include <initializer_list>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "host/interfaces.h"
#include "transport/tcp/nic/packet_pipe.h"
#include "transport/tcp/nic/port.h"
#include "transport/tcp/nic/port_care.h"
#include "transport/tcp/nic/port_events.h"
#include "transport/tcp/nic/xdp/redirect.h"

struct rte_device;
struct rte_eth_dev_info;

namespace tfabric::nic {

// The state is for Port to use. Threads: as Port.
struct Ethdev {
  explicit Ethdev(const PortConfig& port_config, std::uint16_t queue_pairs = 1)
      : config(port_config), queues(queue_pairs) {}
  Ethdev(const Ethdev&) = delete;
  Ethdev& operator=(const Ethdev&) = delete;
  ~Ethdev();

  // Opens and starts the device, on the thread that its driver needs.
  Status open();
  // Returns how many queue pairs the driver offers. Leaves the device with DPDK, to be opened later.
  Result<std::uint16_t> most_queues();

  PortConfig config;
  std::uint16_t queues;
  std::string interface;                      // of AF_XDP; empty: another driver's device
  std::optional<host::InterfaceQuery> query;  // about it, since this driver does not look at its link
  std::unique_ptr<xdp::Redirect> redirect;    // of AF_XDP's interface; outlives the device
  std::uint16_t id = 0;                       // DPDK's port number
  rte_device* device = nullptr;
  rte_mempool* headers = nullptr;
  rte_mempool* externals = nullptr;
  std::shared_ptr<rte_mempool> receive_pool;
  std::vector<std::shared_ptr<PacketPipe>> pipes;  // of each queue; empty: there is an ethdev
  bool probed = false;
  bool started = false;
  PortCapabilities capabilities;
  std::optional<Rss> rss;
  std::unique_ptr<PortCare> care;      // null for a pipe
  std::optional<net::MacAddress> mac;  // empty until the device has been opened for the first time
  bool resets_when_stuck = false;      // the driver leaves it to us to reset a NIC that has failed

 private:
  Status open_pipes();
  Status make_pools(int numa_node);
  // Runs `work` on the thread on which the driver may be opened and closed (control_thread.h), and not beside
  // such work on another device: DPDK's lists of devices have no lock.
  void run_where_safe(const std::function<void()>& work) const;
  // Returns the first error.
  Status take(std::initializer_list<Status (Ethdev::*)()> steps);
  // The steps of open() for an ethdev, in their order.
  Status attach();
  Status probe();
  Status configure();
  Status set_up_queues();
  bool frees_at_each_burst(std::uint16_t queue, std::uint16_t descriptors,
                           const rte_eth_dev_info& info) const;
  Status start();
  void close();
  // --- ethdev_care.cc
  // For PortCare, while no queue is in use.
  Status restart();
  Status reset();
  Status keep_mac();
  void let_go();
  [[nodiscard]] Error no_device_left() const;
  [[nodiscard]] Error other_offloads() const;
  [[nodiscard]] Error failure(const char* what, int error) const;

  std::unique_ptr<PortEvents> events_;  // while the device is with DPDK
};

}  // namespace tfabric::nic
