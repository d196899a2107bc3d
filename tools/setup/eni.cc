#include "tools/setup/eni.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace tfabric::setup {

Json to_json(const Eni& eni) {
  return {{"address", eni.address},
          {"name", eni.name},
          {"mac", eni.mac},
          {"driver", eni.driver},
          {"addresses", eni.addresses},
          {"gateway", eni.gateway},
          {"gateway6", eni.gateway6},
          {"mtu", eni.mtu},
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

}  // namespace tfabric::setup
