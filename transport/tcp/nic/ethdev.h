// A DPDK ethdev that is open: its driver, queues, packet pools and, for AF_XDP, the redirect of its
// interface; or a pipe with its pools, which needs no ethdev. Ports share it; the last one closes it.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <span>
#include <string>

#include "host/interfaces.h"
#include "transport/tcp/nic/packet_pipe.h"
#include "transport/tcp/nic/port.h"
#include "transport/tcp/nic/xdp/redirect.h"

struct rte_device;

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
  std::string interface;                      // of AF_PACKET or AF_XDP; empty: another driver's device
  std::optional<host::InterfaceQuery> query;  // about it, since these drivers do not look at its link
  std::unique_ptr<xdp::Redirect> redirect;    // of AF_XDP's interface; outlives the device
  std::uint16_t id = 0;                       // DPDK's port number
  rte_device* device = nullptr;
  rte_mempool* headers = nullptr;
  rte_mempool* externals = nullptr;
  std::shared_ptr<rte_mempool> receive_pool;
  std::shared_ptr<PacketPipe> pipe;  // null: there is an ethdev
  bool probed = false;
  bool started = false;
  PortCapabilities capabilities;
  std::optional<Rss> rss;

 private:
  Status open_pipe();
  Status make_pools(int numa_node);
  // The steps of open() for an ethdev, in their order.
  Status attach();
  Status probe();
  Status configure();
  Status set_up_queues();
  Status start();
  void close();
  [[nodiscard]] Error no_device_left() const;
  [[nodiscard]] Error failure(const char* what, int error) const;
};

}  // namespace tfabric::nic
