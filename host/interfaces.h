// The kernel's network interfaces in this process's network namespace, with their IP addresses.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/descriptor.h"
#include "config/address.h"

namespace tfabric::host {

// The queues in use (`ethtool -l`).
struct Channels {
  std::uint32_t combined = 1;  // pairs of a receive and a transmit queue
  std::uint32_t receive = 0;   // further receive queues

  [[nodiscard]] std::uint32_t receiving() const { return combined + receive; }
};

struct Interface {
  std::string name;
  bool up = true;        // as configured by the administrator
  bool has_link = true;  // has a carrier; unknown while the interface is down
  std::uint32_t mtu = 1500;
  Channels channels;
  std::uint32_t xdp_program = 0;  // the id of the attached program; 0: none
  bool ethernet = true;           // carries Ethernet frames: not loopback, tunnels, IP over InfiniBand
  std::vector<std::string> other_names{};  // alternative names (`ip link property`)
};

// What the kernel says of an IPv6 address, the most wanted first. One of IPv4 is stable, or deprecated.
enum class AddressState : std::uint8_t {
  stable,
  temporary,   // replaced by another one before long (RFC 8981)
  deprecated,  // its preferred lifetime is over (RFC 4862 §5.5.4)
  tentative,   // the kernel is finding out whether another host has it (RFC 4862 §5.4)
  failed       // another host has it
};

struct LocalAddress {
  std::string netdev;
  config::IpBytes address{};   // IPv4 mapped into IPv6
  unsigned prefix_length = 0;  // of the 128 bits
  bool running = true;         // the interface is up and has a link
  bool up = true;              // as configured by the administrator
  bool leads = true;           // the interface leads somewhere: it is no loopback and no dummy
  AddressState state = AddressState::stable;
  std::vector<std::string> other_names{};  // of the interface
};

// Queries single interfaces, through a socket that it keeps open.
class InterfaceQuery {
 public:
  struct State {
    bool up = false;
    bool has_link = false;  // IFF_RUNNING: may appear a second later than the carrier
  };

  InterfaceQuery();
  // Returns 0 if the MTU is unknown.
  [[nodiscard]] std::uint32_t mtu(const std::string& interface) const;
  // Returns nothing if there is no such interface; all zeros if it has no address.
  [[nodiscard]] std::optional<std::array<std::uint8_t, 6>> mac(const std::string& interface) const;
  // Returns neither up nor link if there is no such interface.
  [[nodiscard]] State state(const std::string& interface) const;
  // Returns what the driver reports, without the delay of State::has_link
  // (Documentation/networking/operstates.rst of Linux), or false if the driver reports nothing. Not for the
  // data path: it waits for the kernel's lock on network configuration.
  [[nodiscard]] bool has_carrier(const std::string& interface) const;

 private:
  Descriptor any_;
};

// These ask the kernel by system calls, because /sys shows the namespace in which it was mounted. They return
// an empty list if the kernel does not answer.
[[nodiscard]] std::vector<Interface> interfaces();
[[nodiscard]] std::vector<LocalAddress> local_addresses();
// Returns the name of the interface that has this name or, as an alternative one, that; itself if none has.
[[nodiscard]] std::string real_name(std::span<const Interface> interfaces, const std::string& name);

// Returns one pair if there is no such interface, or if its driver does not report its queues.
[[nodiscard]] Channels channels_of(const std::string& interface);
// Returns the speed that the driver reports (`ethtool`), in Mbit/s; 0: unknown, as on most clouds' virtual
// NICs and on an interface without a link.
[[nodiscard]] std::uint32_t speed_mbps_of(const std::string& interface);
// Returns a speed that a driver has reported, in Mbit/s; 0 if it is one of the numbers for "unknown".
[[nodiscard]] std::uint32_t known_speed(std::int64_t reported);
// Returns the id of the interface's XDP program, as shown by `ip link` and bpftool; 0: none, or unknown.
[[nodiscard]] std::uint32_t xdp_program_of(const std::string& interface);

}  // namespace tfabric::host
