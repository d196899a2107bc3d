// Some queues of an interface that has others' AF_XDP sockets as well, and the kernel's traffic.
#pragma once

#include <cstdint>
#include <vector>

#include "config/address.h"

namespace tfabric::nic::xdp {

// The TCP ports of a queue.
struct QueuePorts {
  std::uint32_t first = 0;
  std::uint32_t last = 0;
};

struct Part {
  std::uint32_t first_queue = 0;
  std::vector<QueuePorts> ports;           // of each
  std::vector<config::IpBytes> addresses;  // the interface's
};

}  // namespace tfabric::nic::xdp
