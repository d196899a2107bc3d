#include "tools/setup/eni.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

namespace tfabric::setup {
namespace {

using Words = std::vector<std::string>;

std::string settings_folder(const std::string& family, const std::string& name) {
  return "/proc/sys/net/" + family + "/conf/" + name;
}

Json record_settings(const Host& host, const std::string& name) {
  Json settings = Json::object();
  for (const std::string family : {"ipv4", "ipv6"}) {
    const std::string folder = settings_folder(family, name);
    for (const std::string& setting : host.list(folder)) {
      if (auto value = host.read(fmt::format("{}/{}", folder, setting));
          value && setting != "mtu" && setting != "stable_secret") {
        settings[family][setting] = std::move(*value);
      }
    }
  }
  return settings;
}

// The kernel creates these routes itself from addresses and links.
bool is_automatic(const Route& route) {
  const std::string type = text_of(route.json, "type");
  return route.table == "local" || (!type.empty() && type != "unicast") ||
         (route.v6 && (route.destination == "fe80::/64" || route.destination == "ff00::/8"));
}

// Direct routes come first, since the kernel accepts a gateway only if a route to it exists.
int rank_of(const Json& route) {
  return (text_of(route, "gateway").empty() && part_of(route, "via").is_null() ? 0 : 1) +
         (text_of(route, "dst") == "default" ? 1 : 0);
}

void add_text(Words& words, const Json& json, const char* key, const char* word) {
  if (const std::string text = text_of(json, key); !text.empty()) {
    words.insert(words.end(), {word, text});
  }
}

Words address_words(const Json& address, const std::string& name) {
  const bool v6 = text_of(address, "family") == "inet6";
  Words words{"ip", "address", "replace",
              fmt::format("{}/{}", text_of(address, "local"), number_of(address, "prefixlen"))};
  add_text(words, address, "address", "peer");
  if (!v6) {
    add_text(words, address, "broadcast", "broadcast");
    add_text(words, address, "label", "label");
  }
  words.insert(words.end(), {"dev", name});
  add_text(words, address, "scope", "scope");
  constexpr std::int64_t kForever = 0xffffffff;
  if (const auto valid = number_of(address, "valid_life_time", kForever); valid != kForever) {
    words.insert(words.end(),
                 {"valid_lft", std::to_string(valid), "preferred_lft",
                  std::to_string(std::min(valid, number_of(address, "preferred_life_time", valid)))});
  }
  if (flag_of(address, "noprefixroute")) {
    words.emplace_back("noprefixroute");
  }
  return words;
}

void add_address(std::vector<Words>& commands, const Json& address, const std::string& name) {
  const Words words = address_words(address, name);
  if (text_of(address, "family") == "inet6") {
    commands.push_back(words);
    commands.back().emplace_back(
        "nodad");  // the address was this host's before; skip the detection of duplicates
  }
  if (!flag_of(address, "nodad")) {
    commands.push_back(words);  // clears the flag
  }
}

Words route_words(const Json& route, const std::string& name) {
  Words words{"ip", flag_of(route, "v6") ? "-6" : "-4", "route", "append", text_of(route, "dst")};
  add_text(words, route, "gateway", "via");
  if (const Json& via = part_of(route, "via"); via.is_object()) {
    words.insert(words.end(), {"via", text_of(via, "family"), text_of(via, "host")});
  }
  words.insert(words.end(), {"dev", name});
  add_text(words, route, "table", "table");
  add_text(words, route, "protocol", "proto");
  add_text(words, route, "scope", "scope");
  add_text(words, route, "prefsrc", "src");
  if (const std::int64_t metric = number_of(route, "metric"); metric != 0) {
    words.insert(words.end(), {"metric", std::to_string(metric)});
  }
  const auto flags = texts_of(route, "flags");
  if (std::find(flags.begin(), flags.end(), "onlink") != flags.end()) {
    words.emplace_back("onlink");
  }
  for (const Json& metrics : array_of(route, "metrics")) {
    if (const std::int64_t mtu = number_of(metrics, "mtu"); mtu != 0) {
      words.insert(words.end(), {"mtu", std::to_string(mtu)});
    }
  }
  return words;
}

// An address label starts with the name of the interface, which may have changed.
Json with_label(Json address, const std::string& old_name, const std::string& name) {
  const std::string label = text_of(address, "label");
  if (label.starts_with(old_name)) {
    address["label"] = name + label.substr(old_name.size());
  }
  return address;
}

// Appends instead of replacing: the kernel identifies a route by destination, table and metric, so replacing
// it could remove the route of another NIC in the same network. The route may exist: the kernel adds direct
// routes with their address.
Status add_route(Host& host, const Words& words) {
  const Output output = host.run(words);
  const bool there = output.err.find("File exists") != std::string::npos;
  return output.ok() || there ? Status() : Status(failure_of(words, output));
}

}  // namespace

Json to_json(const Eni& eni) {
  return {{"address", eni.address},
          {"name", eni.name},
          {"mac", eni.mac},
          {"driver", eni.driver},
          {"addresses", eni.addresses},
          {"gateway", eni.gateway},
          {"gateway6", eni.gateway6},
          {"mtu", eni.mtu},
          {"speed_mbps", eni.speed_mbps},
          {"numa_node", eni.numa_node}};
}

Eni eni_from(const Json& json) {
  return {.address = text_of(json, "address"),
          .name = text_of(json, "name"),
          .mac = text_of(json, "mac"),
          .driver = text_of(json, "driver"),
          .addresses = texts_of(json, "addresses"),
          .gateway = text_of(json, "gateway"),
          .gateway6 = text_of(json, "gateway6"),
          .mtu = static_cast<std::uint32_t>(number_of(json, "mtu")),
          .speed_mbps = static_cast<std::uint32_t>(number_of(json, "speed_mbps")),
          .numa_node = static_cast<int>(number_of(json, "numa_node", -1))};
}

std::string describe(const Eni& eni) {
  std::string text = fmt::format("{} ({}, {}, {}): {}", eni.address, eni.name, eni.mac, eni.driver,
                                 fmt::join(eni.addresses, " "));
  for (const std::string& gateway : {eni.gateway, eni.gateway6}) {
    text += gateway.empty() ? "" : ", gateway " + gateway;
  }
  return text + fmt::format(", MTU {}{}", eni.mtu,
                            eni.numa_node < 0 ? "" : fmt::format(", NUMA node {}", eni.numa_node));
}

Json record_interface(const Host& host, const Network& network, const std::string& name) {
  Json record{{"name", name}, {"routes", Json::array()}};
  if (const Link* link = network.find(name)) {
    record["up"] = link->up;
    record["mtu"] = link->mtu;
    record["addresses"] = Json::array();
    for (const Json& address : link->addresses) {
      if (text_of(address, "scope") != "link") {  // the kernel adds link-local ones itself
        record["addresses"].push_back(address);
      }
    }
  }
  for (const Route& route : network.routes) {
    if (route.devices == Words{name} && !is_automatic(route)) {
      Json json = route.json;
      json["v6"] = route.v6;
      json["table"] = route.table;
      record["routes"].push_back(json);
    }
  }
  record["settings"] = record_settings(host, name);
  return record;
}

Status restore_interface(Host& host, const Json& record, const std::string& name) {
  std::vector<Words> commands;
  if (const std::int64_t mtu = number_of(record, "mtu"); mtu != 0) {
    commands.push_back({"ip", "link", "set", "dev", name, "mtu", std::to_string(mtu)});
  }
  commands.push_back({"ip", "link", "set", "dev", name, flag_of(record, "up") ? "up" : "down"});
  for (const Json& address : array_of(record, "addresses")) {
    add_address(commands, with_label(address, text_of(record, "name"), name), name);
  }
  std::vector<Json> routes(array_of(record, "routes").begin(), array_of(record, "routes").end());
  std::stable_sort(routes.begin(), routes.end(),
                   [](const Json& a, const Json& b) { return rank_of(a) < rank_of(b); });
  std::string failures;
  const auto note = [&](const Status& status) {
    if (!status) {
      failures += (failures.empty() ? "" : "; ") + status.error().message;
    }
  };
  for (const auto& [family, settings] : part_of(record, "settings").items()) {
    for (const auto& [setting, value] : settings.items()) {
      const std::string path = settings_folder(family, name) + "/" + setting;
      const auto now = host.read(path);
      if (now && value.is_string() && *now != value.get<std::string>()) {
        // Some settings are read-only; the kernel restores those itself.
        static_cast<void>(host.write_attribute(path, value.get<std::string>()));
      }
    }
  }
  for (const Words& words : commands) {
    note(run_or_fail(host, words));
  }
  for (const Json& route : routes) {
    note(add_route(host, route_words(route, name)));
  }
  return failures.empty() ? Status() : Status(Error{Errc::system, failures});
}

}  // namespace tfabric::setup
