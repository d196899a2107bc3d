// What the environment has that is not for tfabric.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <string_view>

#include "config/keys.h"
#include "config/reading.h"

namespace tfabric::config {
namespace {

bool all_digits(std::string_view text) {
  return !text.empty() && std::all_of(text.begin(), text.end(), [](char c) {
    return std::isdigit(static_cast<unsigned char>(c)) != 0;
  });
}

// "tcp://10.96.0.1:80"
bool is_service_address(std::string_view value) {
  return value.starts_with("tcp://") || value.starts_with("udp://") || value.starts_with("sctp://");
}

// Returns true for "80_TCP", "80_TCP_PROTO", "80_TCP_PORT" and "80_TCP_ADDR".
bool names_port(std::string_view text) {
  const std::size_t end = text.find('_');
  if (end == std::string_view::npos || !all_digits(text.substr(0, end))) {
    return false;
  }
  const std::string_view rest = text.substr(end + 1);
  for (const std::string_view protocol : {"TCP", "UDP", "SCTP"}) {
    for (const std::string_view suffix : {"", "_PROTO", "_PORT", "_ADDR"}) {
      if (rest.starts_with(protocol) && rest.substr(protocol.size()) == suffix) {
        return true;
      }
    }
  }
  return false;
}

// What NCCL's built-in network does with a variable (prefix of its name), and tfabric does not.
struct Unused {
  std::string_view prefix;
  std::string_view instead;
};
constexpr std::array<Unused, 10> kUnused{{
    {"NCCL_IB_MERGE_NICS", "each port is a device of its own; none are fused"},
    {"NCCL_IB_MERGE_VFS", "each function has its own PCI path"},
    {"NCCL_IB_SUBNET_AWARE_ROUTING",
     "ports are paired by rail, then by subnet, then in order (docs/rdma.md)"},
    {"NCCL_IB_ROUTABLE_FLID_GID_INDEX", "packets do not cross InfiniBand routers"},
    {"NCCL_IB_ECE_ENABLE", "no enhanced connection establishment is exchanged"},
    {"NCCL_IB_OOO_RQ", "receive queues are in order; see rdma.adaptive_routing"},
    {"NCCL_IB_RESILIENCY_", "a failed queue pair fails its comm"},
    {"NCCL_IB_MQP_RETRY_", "retries are those of rdma.timeout and rdma.retry_count"},
    {"NCCL_IB_DEVICE_PCI_ORDER", "devices are always in the order of their PCI addresses"},
    {"NCCL_IB_WARN_RAIL_LOCAL", "the log names the ports of each connection"},
}};

}  // namespace

bool is_of_service(std::string_view name, std::string_view value) {
  if (name.ends_with("_SERVICE_HOST") || name.ends_with("_SERVICE_PORT") ||
      name.find("_SERVICE_PORT_") != std::string_view::npos) {
    return true;
  }
  if (name.ends_with("_PORT") && is_service_address(value)) {
    return true;
  }
  constexpr std::string_view kPort = "_PORT_";
  for (std::size_t at = name.find(kPort); at != std::string_view::npos; at = name.find(kPort, at + 1)) {
    if (names_port(name.substr(at + kPort.size()))) {
      return true;
    }
  }
  return false;
}

void note_unused_variables(const Environment& environment, Config& config) {
  const auto all = keys();
  for (const auto& variable : environment) {
    const std::string& name = variable.first;
    const bool used =
        std::any_of(all.begin(), all.end(), [&](const Key& key) { return key.nccl_variable == name; });
    if (!name.starts_with("NCCL_IB_") || used || variable.second.empty()) {
      continue;
    }
    const auto known = std::find_if(kUnused.begin(), kUnused.end(),
                                    [&](const Unused& each) { return name.starts_with(each.prefix); });
    config.rdma.unused_variables.push_back(fmt::format(
        "environment {}={} is not read: {}", name, variable.second,
        known != kUnused.end() ? known->instead
                               : "it is unknown to this version of tfabric, and changes nothing"));
  }
}

}  // namespace tfabric::config
