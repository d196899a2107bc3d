// The kernel's interfaces, addresses and routes, as `ip` of iproute2 tells them.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "tools/setup/host.h"
#include "tools/setup/json.h"

namespace tfabric::setup {

struct Link {
  std::string name, mac;
  std::uint32_t mtu = 0;
  bool up = false;     // by the administrator's word
  std::string master;  // the bridge or bond it is part of
  std::string lower;   // the interface that a VLAN or macvlan is on
  Json addresses;      // an array: `ip`'s own words about each
};

struct Route {
  bool v6 = false;
  std::string table;        // "main" where `ip` says nothing
  std::string destination;  // "default", "10.0.0.0/24"
  std::string gateway;
  std::int64_t metric = 0;
  std::vector<std::string> devices;  // several: one of them for each packet
  Json json;                         // `ip`'s own words
};

struct Network {
  std::vector<Link> links;
  std::vector<Route> routes;  // all tables

  [[nodiscard]] const Link* find(const std::string& name) const;
};

Result<Network> read_network(Host& host);

// Of a global scope, as "10.0.0.5/24": what a rail may use.
[[nodiscard]] std::vector<std::string> usable_addresses(const Link& link);
// The next hop to other networks, of any table; the one that a smaller metric prefers. Empty: there is none.
[[nodiscard]] std::string gateway_of(const Network& network, const Link& link, bool v6);

}  // namespace tfabric::setup
