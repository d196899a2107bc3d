#include "host/kernel_ports.h"

#include <algorithm>
#include <optional>
#include <string_view>

#include "config/value.h"

namespace tfabric::host {
namespace {

// "first-last" or "first last", or one port.
std::optional<config::PortRange> parse(std::string_view text) {
  const std::size_t gap = text.find_first_of("- \t");
  const auto first = config::parse_integer(config::trimmed(text.substr(0, gap)));
  const auto last =
      gap == std::string_view::npos ? first : config::parse_integer(config::trimmed(text.substr(gap + 1)));
  constexpr std::int64_t kMost = 65535;
  if (!first || !last || *first < 0 || *last < *first || *last > kMost) {
    return std::nullopt;
  }
  return config::PortRange{.first = static_cast<std::uint16_t>(*first),
                           .last = static_cast<std::uint16_t>(*last)};
}

}  // namespace

bool KernelPorts::may_give_of(const config::PortRange& range) const {
  // Ports that may be given, from the lowest on, less what is reserved of them.
  std::uint32_t port = std::max(range.first, given.first);
  const std::uint32_t last = std::min(range.last, given.last);
  const auto holds_it = [&](const config::PortRange& each) {
    return each.first <= port && port <= each.last;
  };
  while (port <= last) {
    const auto reserve = std::find_if(reserved.begin(), reserved.end(), holds_it);
    if (reserve == reserved.end()) {
      return true;
    }
    port = reserve->last + 1u;
  }
  return false;
}

KernelPorts kernel_ports(const Sysfs& proc) {
  KernelPorts ports;
  if (const auto given = parse(proc.read("sys/net/ipv4/ip_local_port_range").value_or(""))) {
    ports.given = *given;
  }
  const std::string reserved = proc.read("sys/net/ipv4/ip_local_reserved_ports").value_or("");
  for (std::string_view rest = reserved; !rest.empty();) {
    if (const auto range = parse(config::take_until(rest, ','))) {
      ports.reserved.push_back(*range);
    }
  }
  return ports;
}

}  // namespace tfabric::host
