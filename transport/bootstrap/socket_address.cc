#include "transport/bootstrap/socket_address.h"

#include <arpa/inet.h>
#include <fmt/format.h>

#include <array>
#include <cstddef>
#include <cstring>

namespace tfabric::bootstrap {
namespace {

constexpr std::size_t kIpv4At = 12;  // offset of the IPv4 address in a mapped one

}  // namespace

std::string ip_text(const config::IpBytes& ip) {
  std::array<char, INET6_ADDRSTRLEN> text{};
  const bool v4 = config::is_ipv4(ip);
  inet_ntop(v4 ? AF_INET : AF_INET6, ip.data() + (v4 ? kIpv4At : 0), text.data(), text.size());
  return text.data();
}

std::string to_string(const SocketAddress& address) {
  return fmt::format("{} port {}", ip_text(address.ip), address.port);
}

KernelAddress to_kernel(const SocketAddress& address) {
  KernelAddress kernel;
  if (config::is_ipv4(address.ip)) {
    sockaddr_in v4{};
    v4.sin_family = AF_INET;
    v4.sin_port = htons(address.port);
    std::memcpy(&v4.sin_addr, address.ip.data() + kIpv4At, sizeof v4.sin_addr);
    std::memcpy(&kernel.storage, &v4, sizeof v4);
    kernel.length = sizeof v4;
  } else {
    sockaddr_in6 v6{};
    v6.sin6_family = AF_INET6;
    v6.sin6_port = htons(address.port);
    std::memcpy(&v6.sin6_addr, address.ip.data(), sizeof v6.sin6_addr);
    std::memcpy(&kernel.storage, &v6, sizeof v6);
    kernel.length = sizeof v6;
  }
  return kernel;
}

SocketAddress from_kernel(const sockaddr_storage& storage) {
  SocketAddress address;
  if (storage.ss_family == AF_INET) {
    sockaddr_in v4{};
    std::memcpy(&v4, &storage, sizeof v4);
    address.ip[kIpv4At - 1] = address.ip[kIpv4At - 2] = 0xff;
    std::memcpy(address.ip.data() + kIpv4At, &v4.sin_addr, sizeof v4.sin_addr);
    address.port = ntohs(v4.sin_port);
  } else if (storage.ss_family == AF_INET6) {
    sockaddr_in6 v6{};
    std::memcpy(&v6, &storage, sizeof v6);
    std::memcpy(address.ip.data(), &v6.sin6_addr, sizeof v6.sin6_addr);
    address.port = ntohs(v6.sin6_port);
  }
  return address;
}

}  // namespace tfabric::bootstrap
