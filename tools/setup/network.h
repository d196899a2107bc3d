// The kernel's interfaces, addresses and routes, as `ip` of iproute2 reports them, and which of the
// interfaces the host is administered by.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "tools/setup/host.h"
#include "tools/setup/json.h"

namespace tfabric::setup {

struct Link {
  std::string name, mac;
  std::uint32_t mtu = 0;
  std::uint32_t speed_mbps = 0;  // that its driver reports; 0: none, as most clouds' virtual NICs
  bool up = false;               // the administrative state
  std::string master;            // the bridge or bond that it is a port of
  std::string lower;             // the parent interface of a VLAN or macvlan
  Json addresses;                // an array of `ip`'s objects, one an address
};

struct Route {
  bool v6 = false;
  std::string table;        // "main" where `ip` names no table
  std::string destination;  // "default", "10.0.0.0/24"
  std::string gateway;
  std::int64_t metric = 0;
  std::vector<std::string> devices;  // several for a multipath route
  Json json;                         // `ip`'s own object
};

struct Network {
  std::vector<Link> links;
  std::vector<Route> routes;  // of all tables

  // Returns nullptr if there is no such interface.
  [[nodiscard]] const Link* find(const std::string& name) const;
};

Result<Network> read_network(Host& host);

// Returns the addresses that a rail may use, those of global scope, as "10.0.0.5/24".
[[nodiscard]] std::vector<std::string> usable_addresses(const Link& link);
// Returns the gateway by which a rail with these addresses reaches other networks, from the routes of all
// tables over the interface: that of the default route with the smallest metric, else that of the widest
// network. It must be on the link: in a network of the addresses, link-local, marked as on-link, or in a
// network that the interface reaches without a gateway, as with the /32 addresses of some clouds. Empty if
// there is none.
[[nodiscard]] std::string gateway_of(const Network& network, const std::string& interface,
                                     const std::vector<std::string>& addresses, bool v6);
// Returns the networks that the interface reaches by another gateway than this one, as "10.9.0.0/16 by
// 10.0.1.7": a rail has one gateway.
[[nodiscard]] std::vector<std::string> networks_by_others(const Network& network,
                                                          const std::string& interface,
                                                          const std::string& gateway, bool v6);

// An open ssh session on this host.
struct SshSession {
  std::string client, server;  // addresses
  std::string way_back;        // the interface that the route to the client uses; empty if unknown
};

// Returns the sessions of all users, found by SSH_CONNECTION in the environments of the host's processes:
// sudo removes it from the environment of its own child only.
[[nodiscard]] std::vector<SshSession> ssh_sessions(Host& host);

// Returns the interfaces that setup never takes, since the host is administered by them, each with a reason
// that continues "it …": those of the default routes (per family, the preferred ones of the main table) and
// of the ssh sessions, with the ports of a bond or bridge and the parent of a VLAN among them.
[[nodiscard]] std::map<std::string, std::string> protected_interfaces(
    const Network& network, const std::vector<SshSession>& sessions);

}  // namespace tfabric::setup
