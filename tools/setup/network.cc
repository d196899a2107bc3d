#include "tools/setup/network.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

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

// Returns true if a rail with these addresses reaches the gateway directly.
bool is_neighbour(const std::vector<std::string>& addresses, const std::string& gateway) {
  const auto bytes = config::address_bytes(gateway);
  constexpr std::size_t kV6 = 16;
  if (bytes.size() == kV6 && bytes[0] == 0xfe && (bytes[1] & 0xc0) == 0x80) {
    return true;  // RFC 4291 §2.5.6: link-local
  }
  return std::any_of(addresses.begin(), addresses.end(), [&](const std::string& text) {
    const auto network = config::parse_prefixed(text);
    return network && config::in_network(*network, bytes);
  });
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

std::string gateway_of(const Network& network, const Link& link, bool v6) {
  const auto addresses = usable_addresses(link);
  const bool has_family = std::any_of(addresses.begin(), addresses.end(), [&](const std::string& address) {
    return (address.find(':') != std::string::npos) == v6;
  });
  const Route* best = nullptr;
  for (const Route& route : network.routes) {
    if (has_family && route.v6 == v6 && route.destination == "default" &&
        route.devices == std::vector<std::string>{link.name} && is_neighbour(addresses, route.gateway) &&
        (best == nullptr || route.metric < best->metric)) {
      best = &route;
    }
  }
  return best == nullptr ? std::string() : best->gateway;
}

}  // namespace tfabric::setup
