// The kernel's network interfaces, of this process's network namespace.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/descriptor.h"

namespace tfabric::host {

// Queues that are in use (`ethtool -l`).
struct Channels {
  std::uint32_t combined = 1;  // pairs of a receive and a transmit queue
  std::uint32_t receive = 0;   // receive queues besides

  [[nodiscard]] std::uint32_t receiving() const { return combined + receive; }
};

struct Interface {
  std::string name;
  bool up = true;        // as the administrator wants it
  bool has_link = true;  // there is a carrier; nobody knows while it is down
  std::uint32_t mtu = 1500;
  Channels channels;
  std::uint32_t xdp_program = 0;  // the number of that which is attached; 0: none
};

// Asks the kernel about single interfaces, by a socket that it keeps.
class InterfaceQuery {
 public:
  struct State {
    bool up = false;
    bool has_link = false;  // IFF_RUNNING: a carrier that has just come may take a second to be seen
  };

  InterfaceQuery();
  // 0: it is not known.
  [[nodiscard]] std::uint32_t mtu(const std::string& interface) const;
  // Neither: there is none.
  [[nodiscard]] State state(const std::string& interface) const;
  // What the driver says, without that delay (Documentation/networking/operstates.rst of Linux). Waits for
  // whoever changes the network just then: not for where packets move. False, too: the driver does not say.
  [[nodiscard]] bool has_carrier(const std::string& interface) const;

 private:
  Descriptor any_;
};

// Asked of the kernel, since /sys shows the namespace in which it was mounted. Empty if it cannot be asked.
[[nodiscard]] std::vector<Interface> interfaces();
// A pair if there is no such interface, or its driver does not say.
[[nodiscard]] Channels channels_of(const std::string& interface);

}  // namespace tfabric::host
