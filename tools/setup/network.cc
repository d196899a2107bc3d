#include "tools/setup/network.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <optional>
#include <utility>

#include "config/address.h"

namespace tfabric::setup {
namespace {

Result<Json> ask(Host& host, std::vector<std::string> words) {
  words.insert(words.begin(), "ip");
  const Output output = host.run(words);
  if (!output.ok()) {
    return Error{Errc::unusable,
                 fmt::format("`{}` failed: {} (expected iproute2's ip, 4.17 or later, which has -json)",
                             fmt::join(words, " "), output.err)};
  }
  // Some versions print nothing instead of an empty array.
  const auto json = parse_json(output.out.empty() ? "[]" : output.out);
  if (!json || !json->is_array()) {
    return Error{Errc::unusable,
                 fmt::format("`{}` does not print JSON: a newer iproute2 is needed", fmt::join(words, " "))};
  }
  return *json;
}

Link to_link(const Json& json) {
  Link link;
  link.name = text_of(json, "ifname");
  link.mac = text_of(json, "address");
  link.mtu = static_cast<std::uint32_t>(number_of(json, "mtu"));
  const auto flags = texts_of(json, "flags");
  link.up = std::find(flags.begin(), flags.end(), "UP") != flags.end();
  link.master = text_of(json, "master");
  link.lower = text_of(json, "link");
  link.addresses = Json::array();
  for (const Json& address : array_of(json, "addr_info")) {
    if (!text_of(address, "local").empty()) {
      link.addresses.push_back(address);
    }
  }
  return link;
}

Route to_route(const Json& json, bool v6) {
  Route route{.v6 = v6, .json = json};
  route.table = text_of(json, "table").empty() ? "main" : text_of(json, "table");
  route.destination = text_of(json, "dst");
  route.gateway = text_of(json, "gateway");
  route.metric = number_of(json, "metric");
  if (const std::string device = text_of(json, "dev"); !device.empty()) {
    route.devices.push_back(device);
  }
  for (const Json& hop : array_of(json, "nexthops")) {
    route.devices.push_back(text_of(hop, "dev"));
  }
  return route;
}

bool is_default(const Route& route) { return route.destination == "default"; }

// A unicast route by this interface alone.
bool is_by(const Route& route, const std::string& interface, bool v6) {
  const std::string type = text_of(route.json, "type");
  return route.v6 == v6 && route.devices == std::vector<std::string>{interface} &&
         (type.empty() || type == "unicast");
}

// Returns nothing for the default route and for the route to a single host, which `ip` shows without a
// length.
std::optional<config::PrefixedAddress> network_of(const Route& route) {
  return config::parse_prefixed(route.destination);
}

// Returns true if the interface reaches the address without a gateway.
bool is_direct(const Network& network, const std::string& interface, const std::string& address, bool v6) {
  const auto bytes = config::address_bytes(address);
  return std::any_of(network.routes.begin(), network.routes.end(), [&](const Route& route) {
    if (!is_by(route, interface, v6) || !route.gateway.empty() || !part_of(route.json, "via").is_null()) {
      return false;
    }
    const auto covered = network_of(route);
    return covered ? config::in_network(*covered, bytes) : route.destination == address;
  });
}

bool has_flag(const Route& route, const std::string& flag) {
  const auto flags = texts_of(route.json, "flags");
  return std::find(flags.begin(), flags.end(), flag) != flags.end();
}

// Returns true if a rail with these addresses reaches the route's gateway directly.
bool is_neighbour(const Network& network, const std::string& interface,
                  const std::vector<std::string>& addresses, const Route& route) {
  const auto bytes = config::address_bytes(route.gateway);
  constexpr std::size_t kV6 = 16;
  if (bytes.size() == kV6 && bytes[0] == 0xfe && (bytes[1] & 0xc0) == 0x80) {
    return true;  // RFC 4291 §2.5.6: link-local
  }
  const bool in_own = std::any_of(addresses.begin(), addresses.end(), [&](const std::string& text) {
    const auto own = config::parse_prefixed(text);
    return own && config::in_network(*own, bytes);
  });
  return in_own || has_flag(route, "onlink") || is_direct(network, interface, route.gateway, route.v6);
}

// Returns true if the route leads to networks in which peers may be. Routes to single hosts and to link-local
// addresses lead to services of the cloud, whose gateway may be none for others.
bool leads_to_peers(const Route& route) {
  const auto network = network_of(route);
  const bool link_local = network && network->bytes.size() == 4 && network->bytes[0] == 169 &&
                          network->bytes[1] == 254;  // RFC 3927
  return !route.gateway.empty() && (is_default(route) || (network && !link_local));
}

// Default routes come first, then wide networks, then small metrics.
bool is_preferred(const Route& route, const Route& other) {
  const auto rank = [](const Route& each) {
    return std::pair(is_default(each) ? 0u : 1u + network_of(each)->length, each.metric);
  };
  return rank(route) < rank(other);
}

}  // namespace

const Link* Network::find(const std::string& name) const {
  const auto found =
      std::find_if(links.begin(), links.end(), [&](const Link& link) { return link.name == name; });
  return found == links.end() ? nullptr : &*found;
}

Result<Network> read_network(Host& host) {
  Network network;
  Result<Json> links = ask(host, {"-json", "address", "show"});
  if (!links) {
    return links.error();
  }
  for (const Json& link : *links) {
    if (!text_of(link, "ifname").empty()) {
      network.links.push_back(to_link(link));
    }
  }
  for (const bool v6 : {false, true}) {
    Result<Json> routes = ask(host, {v6 ? "-6" : "-4", "-json", "route", "show", "table", "all"});
    if (!routes) {
      return routes.error();
    }
    for (const Json& route : *routes) {
      network.routes.push_back(to_route(route, v6));
    }
  }
  return network;
}

std::vector<std::string> usable_addresses(const Link& link) {
  std::vector<std::string> addresses;
  for (const Json& address : link.addresses) {
    if (text_of(address, "scope") == "global" && !flag_of(address, "temporary") &&
        !flag_of(address, "deprecated")) {
      addresses.push_back(fmt::format("{}/{}", text_of(address, "local"), number_of(address, "prefixlen")));
    }
  }
  return addresses;
}

std::string gateway_of(const Network& network, const std::string& interface,
                       const std::vector<std::string>& addresses, bool v6) {
  const bool has_family = std::any_of(addresses.begin(), addresses.end(), [&](const std::string& address) {
    return (address.find(':') != std::string::npos) == v6;
  });
  const Route* best = nullptr;
  for (const Route& route : network.routes) {
    if (has_family && is_by(route, interface, v6) && leads_to_peers(route) &&
        is_neighbour(network, interface, addresses, route) &&
        (best == nullptr || is_preferred(route, *best))) {
      best = &route;
    }
  }
  return best == nullptr ? std::string() : best->gateway;
}

std::vector<std::string> networks_by_others(const Network& network, const std::string& interface,
                                            const std::string& gateway, bool v6) {
  std::vector<std::string> networks;
  for (const Route& route : network.routes) {
    if (is_by(route, interface, v6) && leads_to_peers(route) && !is_default(route) &&
        route.gateway != gateway) {
      networks.push_back(fmt::format("{} by {}", route.destination, route.gateway));
    }
  }
  return networks;
}

}  // namespace tfabric::setup
