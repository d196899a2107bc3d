#include "transport/bootstrap/addresses.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <iterator>
#include <string>
#include <string_view>

#include "transport/bootstrap/socket_address.h"

namespace tfabric::bootstrap {

bool is_loopback(const config::IpBytes& ip) {
  constexpr std::uint8_t kLoopback4 = 127;  // 127.0.0.0/8
  config::IpBytes loopback6{};
  loopback6.back() = 1;
  return config::is_ipv4(ip) ? ip[12] == kLoopback4 : ip == loopback6;
}

namespace {

// How likely peers on other hosts can reach an address, the least likely first.
enum class Reach : std::uint8_t { host, bridge, network };

bool is_link_local6(const config::IpBytes& ip) { return ip[0] == 0xfe && (ip[1] & 0xc0) == 0x80; }

Reach reach_of(const host::LocalAddress& local) {
  // Prefixes of the names that Docker, libvirt, Podman, LXC and Kubernetes' network plugins use.
  constexpr std::array<std::string_view, 9> kBridges{"docker", "virbr", "br-",  "podman", "cni",
                                                     "lxc",    "veth",  "cali", "flannel"};
  if (is_loopback(local.address)) {
    return Reach::host;
  }
  const bool bridge = std::any_of(kBridges.begin(), kBridges.end(), [&](std::string_view name) {
    return std::string_view(local.netdev).starts_with(name);
  });
  return bridge ? Reach::bridge : Reach::network;
}

bool may_be_offered(const host::LocalAddress& local, const config::Rdma& wishes) {
  const bool v4 = config::is_ipv4(local.address);
  const bool wanted_family = wishes.bootstrap_family == config::AddressFamily::automatic ||
                             v4 == (wishes.bootstrap_family == config::AddressFamily::ipv4);
  return local.running && wanted_family && (v4 || !is_link_local6(local.address)) &&
         wishes.bootstrap_interface.selects(local.netdev);
}

// Appends the first address of the family of each interface.
void append(std::span<const host::LocalAddress> candidates, bool v4,
            std::vector<config::IpBytes>& addresses) {
  std::vector<std::string_view> seen;
  for (const host::LocalAddress& local : candidates) {
    const bool first = std::find(seen.begin(), seen.end(), local.netdev) == seen.end();
    if (config::is_ipv4(local.address) == v4 && first && addresses.size() < kMaxAddresses) {
      addresses.push_back(local.address);
      seen.push_back(local.netdev);
    }
  }
}

}  // namespace

std::string nothing_selected(std::span<const host::LocalAddress> local, const config::Rdma& wishes) {
  std::vector<std::string> there;
  for (const host::LocalAddress& address : local) {
    there.push_back(
        fmt::format("{} ({}{})", address.netdev, ip_text(address.address), address.running ? "" : ", down"));
  }
  const auto family = wishes.bootstrap_family;
  return fmt::format(
      "no interface for two ranks to meet over: rdma.bootstrap_interface (NCCL_SOCKET_IFNAME) "
      "is \"{}\"{}, and this host has {}. Name one that is up and has an address other than a "
      "link-local one of IPv6",
      wishes.bootstrap_interface.names_any() ? wishes.bootstrap_interface.text() : "auto",
      family == config::AddressFamily::automatic
          ? ""
          : fmt::format(" with rdma.bootstrap_family (NCCL_SOCKET_FAMILY) {}",
                        family == config::AddressFamily::ipv4 ? "ipv4" : "ipv6"),
      there.empty() ? "none with an address" : fmt::format("{}", fmt::join(there, ", ")));
}

std::vector<host::LocalAddress> selected_addresses(std::span<const host::LocalAddress> local,
                                                   const config::Rdma& wishes) {
  std::vector<host::LocalAddress> candidates;
  std::copy_if(local.begin(), local.end(), std::back_inserter(candidates),
               [&](const host::LocalAddress& address) { return may_be_offered(address, wishes); });
  if (!wishes.bootstrap_interface.names_any()) {
    Reach best = Reach::host;
    for (const host::LocalAddress& address : candidates) {
      best = std::max(best, reach_of(address));
    }
    std::erase_if(candidates, [&](const host::LocalAddress& address) { return reach_of(address) < best; });
  }
  return candidates;
}

Result<std::vector<config::IpBytes>> offered_addresses(std::span<const host::LocalAddress> local,
                                                       const config::Rdma& wishes) {
  const std::vector<host::LocalAddress> candidates = selected_addresses(local, wishes);
  std::vector<config::IpBytes> addresses;
  append(candidates, /*v4=*/true, addresses);
  append(candidates, /*v4=*/false, addresses);
  if (addresses.empty()) {
    return Error{Errc::invalid_usage, nothing_selected(local, wishes)};
  }
  return addresses;
}

}  // namespace tfabric::bootstrap
