// The part of FakeKernel that simulates `ip`.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "tests/unit/setup/fake_kernel.h"

namespace tfabric::test {
namespace {

using setup::Json;
using setup::Output;
using Words = std::vector<std::string>;

// Parses the options of `ip` from an index on: names with a value, or alone.
std::map<std::string, std::string> options_in(const Words& words, std::size_t from) {
  std::map<std::string, std::string> found;
  for (std::size_t i = from; i < words.size(); ++i) {
    const bool alone = words[i] == "nodad" || words[i] == "noprefixroute" || words[i] == "onlink";
    found[words[i]] = alone || i + 1 == words.size() ? "" : words[i + 1];
    i += alone ? 0 : 1;
  }
  return found;
}

}  // namespace

Output FakeKernel::show_addresses() const {
  Json all = Json::array();
  for (const auto& [name, interface] : interfaces) {
    Json json = interface.more;
    json.update({{"ifname", name}, {"address", interface.mac}, {"mtu", interface.mtu}});
    json["flags"] = interface.up ? Json{"BROADCAST", "UP"} : Json{"BROADCAST"};
    json["addr_info"] = interface.addresses;
    all.push_back(json);
  }
  return {.out = setup::to_text(all)};
}

Output FakeKernel::show_routes(bool v6) const {
  std::set<std::string> sorted;
  for (const auto& [name, interface] : interfaces) {
    for (Json route : interface.routes) {
      if (setup::flag_of(route, "v6") == v6) {
        route["dev"] = name;
        if (!route.contains("flags")) {
          route["flags"] = Json::array();
        }
        route.erase("v6");
        sorted.insert(setup::to_text(route));
      }
    }
  }
  return {.out = fmt::format("[{}]", fmt::join(sorted, ","))};
}

bool FakeKernel::set_link(const Words& words) {
  const auto found = interfaces.find(words[3]);
  if (found == interfaces.end()) {
    return false;
  }
  if (words[4] == "mtu") {
    found->second.mtu = static_cast<std::uint32_t>(std::stoul(words[5]));
  } else if (words[4] == "name") {
    auto node = interfaces.extract(found);
    node.key() = words[5];
    hide_interface(words[3], node.mapped().function);
    interfaces.insert(std::move(node));
    show_interface(words[5]);
  } else {
    found->second.up = words[4] == "up";
  }
  return true;
}

bool FakeKernel::replace_address(const Words& words) {
  const auto options = options_in(words, 3);
  const auto found = interfaces.find(options.at("dev"));
  if (found == interfaces.end()) {
    return false;
  }
  const std::string local = words[2].substr(0, words[2].find('/'));
  Json& addresses = found->second.addresses;
  for (auto address = addresses.begin(); address != addresses.end(); ++address) {
    if (setup::text_of(*address, "local") == local) {
      addresses.erase(address);
      break;
    }
  }
  add_address(found->second, local, std::stoi(words[2].substr(words[2].find('/') + 1)));
  if (words[2].ends_with("/24")) {
    add_direct_route(found->second, local);
  }
  if (options.contains("broadcast")) {
    addresses.back()["broadcast"] = options.at("broadcast");
  }
  if (options.contains("nodad")) {
    addresses.back()["nodad"] = true;
  }
  if (options.contains("valid_lft")) {
    addresses.back()["valid_life_time"] = std::stoi(options.at("valid_lft"));
    addresses.back()["preferred_life_time"] = std::stoi(options.at("preferred_lft"));
  }
  return true;
}

Output FakeKernel::append_route(const Words& words, bool v6) {
  const auto options = options_in(words, 3);
  const auto found = interfaces.find(options.at("dev"));
  if (found == interfaces.end() || !found->second.up) {
    return {.status = 2, .err = "Cannot find device"};
  }
  Json route{{"dst", words[2]}};
  if (v6) {
    route["v6"] = true;
  }
  for (const auto& [word, key] : std::map<std::string, std::string>{{"via", "gateway"},
                                                                    {"proto", "protocol"},
                                                                    {"scope", "scope"},
                                                                    {"src", "prefsrc"},
                                                                    {"table", "table"}}) {
    if (options.contains(word) && options.at(word) != "main") {
      route[key] = options.at(word);
    }
  }
  if (options.contains("metric")) {
    route["metric"] = std::stoi(options.at("metric"));
  }
  if (options.contains("onlink")) {
    route["flags"] = {"onlink"};
  }
  auto& routes = found->second.routes;
  if (std::find(routes.begin(), routes.end(), route) != routes.end()) {
    return {.status = 2, .err = "RTNETLINK answers: File exists\n"};
  }
  routes.push_back(route);
  return {};
}

Output FakeKernel::run_ip(Words words) {
  bool v6 = false;
  std::erase_if(words, [&](const std::string& word) {
    v6 = v6 || word == "-6";
    return word.starts_with('-');
  });
  if (words[1] == "show") {
    return words[0] == "address" ? show_addresses() : show_routes(v6);
  }
  if (words[1] == "get") {
    return {.out = R"([{"dev":"ens3"}])"};
  }
  change();
  if (words[0] == "route") {
    // `replace` could remove the route of another interface in the same network.
    return words[1] == "append" ? append_route(words, v6)
                                : Output{.status = 1, .err = "only append is simulated"};
  }
  const bool done = words[0] == "link" ? set_link(words) : replace_address(words);
  return {.status = done ? 0 : 2, .err = done ? "" : "Cannot find device"};
}

}  // namespace tfabric::test
