#include "transport/bootstrap/addresses.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <iterator>
#include <string>
#include <string_view>
#include <thread>
#include <tuple>

#include "transport/bootstrap/socket_address.h"

namespace tfabric::bootstrap {

bool is_loopback(const config::IpBytes& ip) {
  constexpr std::uint8_t kLoopback4 = 127;  // 127.0.0.0/8
  config::IpBytes loopback6{};
  loopback6.back() = 1;
  return config::is_ipv4(ip) ? ip[12] == kLoopback4 : ip == loopback6;
}

namespace {

using host::AddressState;
using host::LocalAddress;
using Addresses = std::vector<LocalAddress>;

// How likely peers on other hosts can reach an address, the least likely first.
enum class Reach : std::uint8_t { loopback, link, containers, host, network };

bool is_link_local(const config::IpBytes& ip) {
  return config::is_ipv4(ip) ? ip[12] == 169 && ip[13] == 254 : ip[0] == 0xfe && (ip[1] & 0xc0) == 0x80;
}

// By the names that they give their interfaces: Docker, nerdctl, Podman, LXC, Incus and libvirt their
// bridges, Kubernetes' network plugins and proxies their bridges, overlays and ends toward pods, and overlays
// of other kinds theirs.
bool is_of_containers(std::string_view name) {
  constexpr std::array<std::string_view, 30> kPrefixes{
      "docker", "br-",   "nerdctl",      "podman", "lxc",          "lxdbr", "incusbr",   "virbr",
      "vnet",   "cni",   "cbr",          "cali",   "vxlan.calico", "tunl",  "flannel",   "cilium",
      "weave",  "kube-", "nodelocaldns", "antrea", "ovn-k8s",      "ovs-",  "genev_sys", "veth",
      "gke",    "azv",   "tailscale",    "zt",     "nebula",       "wt0"};
  return std::any_of(kPrefixes.begin(), kPrefixes.end(),
                     [&](std::string_view prefix) { return name.starts_with(prefix); });
}

bool wants_family(const config::Rdma& wishes, const config::IpBytes& ip) {
  return wishes.bootstrap_family == config::AddressFamily::automatic ||
         config::is_ipv4(ip) == (wishes.bootstrap_family == config::AddressFamily::ipv4);
}

// Whether or not it has a link.
bool may_count(const LocalAddress& local, const config::Rdma& wishes) {
  return wants_family(wishes, local.address) &&
         (config::is_ipv4(local.address) || !is_link_local(local.address)) &&
         local.state != AddressState::failed;
}

bool counts(const LocalAddress& local, const config::Rdma& wishes) {
  return local.running && may_count(local, wishes) && local.state != AddressState::tentative;
}

bool has_name(const LocalAddress& local, const std::string& name) {
  const auto& others = local.other_names;
  return local.netdev == name || std::find(others.begin(), others.end(), name) != others.end();
}

// '^' excludes an interface by each of its names.
bool is_selected(const LocalAddress& local, const config::InterfaceList& list) {
  const auto selects = [&](const std::string& name) { return list.selects(name); };
  const auto& others = local.other_names;
  return list.text().starts_with('^')
             ? selects(local.netdev) && std::all_of(others.begin(), others.end(), selects)
             : selects(local.netdev) || std::any_of(others.begin(), others.end(), selects);
}

// Which of two interfaces with one address has it for its own.
bool owns_rather(const LocalAddress& a, const LocalAddress& b) {
  return std::tuple(a.prefix_length, a.leads) < std::tuple(b.prefix_length, b.leads);
}

struct Candidate {
  LocalAddress local;
  Reach reach;
};

// `shared`: other interfaces have the address, too, and none of them has it rather than the others.
Reach reach_of(const LocalAddress& local, bool shared) {
  if (is_loopback(local.address)) {
    return Reach::loopback;
  }
  if (is_link_local(local.address)) {
    return Reach::link;
  }
  if (shared || is_of_containers(local.netdev)) {
    return Reach::containers;
  }
  return local.leads ? Reach::network : Reach::host;
}

// Leaves each address to one interface.
std::vector<Candidate> candidates_of(const Addresses& addresses) {
  std::vector<Candidate> candidates;
  for (std::size_t i = 0; i < addresses.size(); ++i) {
    const LocalAddress& local = addresses[i];
    bool shared = false, others = false;
    for (std::size_t j = 0; j < addresses.size(); ++j) {
      const LocalAddress& other = addresses[j];
      if (other.address != local.address || other.netdev == local.netdev || owns_rather(local, other)) {
        continue;
      }
      shared = true;
      others = others || j < i || owns_rather(other, local);
    }
    if (!others) {
      candidates.push_back({.local = local, .reach = reach_of(local, shared)});
    }
  }
  return candidates;
}

// Leaves of each interface the preferred address of each family, IPv4 first.
Addresses preferred(const Addresses& addresses) {
  Addresses best;
  for (const bool v4 : {true, false}) {
    const LocalAddress* found = nullptr;
    for (const LocalAddress& local : addresses) {
      const auto key = [](const LocalAddress& each) {
        return std::tuple(is_link_local(each.address), each.state);
      };
      if (config::is_ipv4(local.address) == v4 && (found == nullptr || key(local) < key(*found))) {
        found = &local;
      }
    }
    if (found != nullptr) {
      best.push_back(*found);
    }
  }
  return best;
}

// "eth0 (10.0.0.5), eth1 (10.0.1.5, down)"
std::string list_of(std::span<const LocalAddress> local) {
  constexpr std::size_t kMostListed = 16;
  std::vector<std::string> there;
  for (const LocalAddress& address : local.first(std::min(local.size(), kMostListed))) {
    there.push_back(
        fmt::format("{} ({}{})", address.netdev, ip_text(address.address), address.running ? "" : ", down"));
  }
  if (local.size() > there.size()) {
    there.push_back(fmt::format("{} more", local.size() - there.size()));
  }
  return there.empty() ? "none with an address" : fmt::format("{}", fmt::join(there, ", "));
}

}  // namespace

Offer offer(std::span<const LocalAddress> local, const config::Rdma& wishes) {
  Addresses wanted;
  std::copy_if(local.begin(), local.end(), std::back_inserter(wanted), [&](const LocalAddress& address) {
    return counts(address, wishes) && is_selected(address, wishes.bootstrap_interface);
  });
  std::vector<Candidate> candidates = candidates_of(wanted);
  if (!wishes.bootstrap_interface.names_any()) {
    Reach best = Reach::loopback;
    for (const Candidate& candidate : candidates) {
      best = std::max(best, candidate.reach);
    }
    std::erase_if(candidates, [best](const Candidate& candidate) { return candidate.reach < best; });
  }
  Offer offer;
  for (const Candidate& candidate : candidates) {
    const std::string& name = candidate.local.netdev;
    const auto known = std::find_if(offer.interfaces.begin(), offer.interfaces.end(),
                                    [&](const OfferedInterface& each) { return each.name == name; });
    OfferedInterface& interface =
        known != offer.interfaces.end() ? *known : offer.interfaces.emplace_back(OfferedInterface{name, {}});
    interface.addresses.push_back(candidate.local);
  }
  if (!wishes.bootstrap_interface.names_any() && offer.interfaces.size() > kMaxInterfaces) {
    offer.left_out = offer.interfaces.size() - kMaxInterfaces;
    offer.interfaces.resize(kMaxInterfaces);
  }
  for (OfferedInterface& interface : offer.interfaces) {
    interface.addresses = preferred(interface.addresses);
  }
  return offer;
}

Addresses addresses_of(std::span<const LocalAddress> local, const std::string& interface,
                       const config::Rdma& wishes) {
  Addresses found;
  std::copy_if(local.begin(), local.end(), std::back_inserter(found), [&](const LocalAddress& address) {
    return address.netdev == interface && may_count(address, wishes) &&
           address.state != AddressState::tentative;
  });
  return preferred(found);
}

std::string nothing_offered(std::span<const LocalAddress> local, const config::Rdma& wishes) {
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
      list_of(local));
}

Result<std::vector<config::IpBytes>> offered_addresses(std::span<const LocalAddress> local,
                                                       const config::Rdma& wishes) {
  const Offer all = offer(local, wishes);
  std::vector<config::IpBytes> addresses;
  for (const bool v4 : {true, false}) {
    for (const OfferedInterface& interface : all.interfaces) {
      for (const LocalAddress& address : interface.addresses) {
        if (config::is_ipv4(address.address) == v4 && addresses.size() < kMaxAddresses) {
          addresses.push_back(address.address);
        }
      }
    }
  }
  if (addresses.empty()) {
    return Error{Errc::invalid_usage, nothing_offered(local, wishes)};
  }
  return addresses;
}

bool is_settling(std::span<const LocalAddress> local, std::span<const std::string> named,
                 const config::Rdma& wishes) {
  bool tentative = false, running = false, may_run = false;
  for (const LocalAddress& address : local) {
    const bool meant = named.empty() ? is_selected(address, wishes.bootstrap_interface)
                                     : std::any_of(named.begin(), named.end(), [&](const std::string& name) {
                                         return has_name(address, name);
                                       });
    if (!meant || !may_count(address, wishes) || is_loopback(address.address)) {
      continue;
    }
    tentative = tentative || (address.running && address.state == AddressState::tentative);
    const bool network = reach_of(address, /*shared=*/false) >= Reach::host || !named.empty();
    running = running || (network && address.running);
    may_run = may_run || (network && address.up);
  }
  return tentative || (!running && may_run);
}

Addresses settled_addresses(std::span<const std::string> named, const config::Rdma& wishes) {
  constexpr Duration kInterval = std::chrono::milliseconds(20);
  const Instant end = monotonic_now() + kSettling;
  for (;;) {
    Addresses local = host::local_addresses();
    if (!is_settling(local, named, wishes) || monotonic_now() >= end) {
      return local;
    }
    std::this_thread::sleep_for(kInterval);
  }
}

}  // namespace tfabric::bootstrap
