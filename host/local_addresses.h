// The IP addresses of the interfaces in this process's network namespace.
#pragma once

#include <string>
#include <vector>

#include "config/address.h"

namespace tfabric::host {

struct LocalAddress {
  std::string netdev;
  config::IpBytes address{};   // IPv4 mapped into IPv6
  unsigned prefix_length = 0;  // of the 128 bits
  bool running = true;         // the interface is up and has a link
};

// Empty if the kernel cannot be asked.
[[nodiscard]] std::vector<LocalAddress> local_addresses();

}  // namespace tfabric::host
