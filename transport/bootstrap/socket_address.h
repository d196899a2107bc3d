// Socket addresses for the kernel's TCP and its RDMA connection manager: 16 bytes (IPv4 mapped into IPv6) and
// a port.
#pragma once

#include <netinet/in.h>
#include <sys/socket.h>

#include <cstdint>
#include <string>

#include "config/address.h"

namespace tfabric::bootstrap {

struct SocketAddress {
  config::IpBytes ip{};
  std::uint16_t port = 0;
  friend bool operator==(const SocketAddress&, const SocketAddress&) = default;
};

// "10.0.0.5", "fd00::5".
[[nodiscard]] std::string ip_text(const config::IpBytes& ip);
// "10.0.0.5 port 4000".
[[nodiscard]] std::string to_string(const SocketAddress& address);

// The kernel's form. IPv4 addresses become AF_INET, so that hosts without IPv6 can use them.
struct KernelAddress {
  sockaddr_storage storage{};
  socklen_t length = 0;
};
[[nodiscard]] KernelAddress to_kernel(const SocketAddress& address);
[[nodiscard]] SocketAddress from_kernel(const sockaddr_storage& storage);

}  // namespace tfabric::bootstrap
