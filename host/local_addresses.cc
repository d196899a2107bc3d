#include "host/local_addresses.h"

#include <ifaddrs.h>
#include <net/if.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <algorithm>
#include <bit>
#include <cstring>
#include <iterator>
#include <memory>

namespace tfabric::host {
namespace {

// The 16 bytes of an address, or of a mask: then all that precedes an IPv4 mask is set. False: it is no IP's.
bool copy_bytes(const sockaddr* address, bool mask, config::IpBytes& bytes) {
  if (address == nullptr) {
    return false;
  }
  if (address->sa_family == AF_INET6) {
    sockaddr_in6 v6{};
    std::memcpy(&v6, address, sizeof(v6));
    std::memcpy(bytes.data(), &v6.sin6_addr, sizeof(v6.sin6_addr));
    return true;
  }
  if (address->sa_family != AF_INET) {
    return false;
  }
  sockaddr_in v4{};
  std::memcpy(&v4, address, sizeof(v4));
  bytes.fill(mask ? 0xff : 0);
  bytes[10] = bytes[11] = 0xff;
  std::memcpy(&bytes[12], &v4.sin_addr, sizeof(v4.sin_addr));
  return true;
}

unsigned leading_ones(const config::IpBytes& mask) {
  const auto end = std::find_if(mask.begin(), mask.end(), [](std::uint8_t byte) { return byte != 0xff; });
  const auto whole = static_cast<unsigned>(std::distance(mask.begin(), end)) * 8;
  return end == mask.end() ? whole : whole + static_cast<unsigned>(std::countl_one(*end));
}

}  // namespace

std::vector<LocalAddress> local_addresses() {
  std::vector<LocalAddress> addresses;
  ifaddrs* list = nullptr;
  if (getifaddrs(&list) != 0) {
    return addresses;
  }
  const std::unique_ptr<ifaddrs, decltype(&freeifaddrs)> owner(list, freeifaddrs);
  for (const ifaddrs* entry = list; entry != nullptr; entry = entry->ifa_next) {
    LocalAddress local{.netdev = entry->ifa_name};
    constexpr unsigned kRunning = IFF_UP | IFF_RUNNING;
    local.running = (entry->ifa_flags & kRunning) == kRunning;
    config::IpBytes mask{};
    if (copy_bytes(entry->ifa_addr, /*mask=*/false, local.address)) {
      local.prefix_length = copy_bytes(entry->ifa_netmask, /*mask=*/true, mask) ? leading_ones(mask) : 128;
      addresses.push_back(std::move(local));
    }
  }
  return addresses;
}

}  // namespace tfabric::host
