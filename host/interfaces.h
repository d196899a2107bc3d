// The kernel's network interfaces, of this process's network namespace.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace tfabric::host {

struct Interface {
  std::string name;
  bool up = true;        // as the administrator wants it
  bool has_link = true;  // there is a carrier; nobody knows while it is down
  std::uint32_t mtu = 1500;
};

// Asked of the kernel, since /sys shows the namespace in which it was mounted. Empty if it cannot be asked.
[[nodiscard]] std::vector<Interface> interfaces();

}  // namespace tfabric::host
