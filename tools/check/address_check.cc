#include "tools/check/address_check.h"

#include <fmt/format.h>

#include <algorithm>
#include <string>

#include "config/address.h"

namespace tfabric::check {
void check_addresses(const Host& host, const config::Rail& rail, Findings& findings) {
  for (const std::string& text : rail.addresses) {
    const auto address = config::parse_prefixed(text);
    if (!address) {
      continue;
    }
    const config::IpBytes bytes = config::mapped(address->bytes);
    const auto local = std::find_if(host.addresses.begin(), host.addresses.end(),
                                    [&](const auto& each) { return each.address == bytes; });
    if (local != host.addresses.end()) {
      const bool v4 = address->bytes.size() == 4;
      findings.error(
          Id::address_on_kernel, "rail " + rail.name,
          fmt::format("the kernel has the address {} too, on its interface {}, and would reset tfabric's "
                      "connections",
                      text.substr(0, text.find('/')), local->netdev),
          fmt::format("as root: ip address del {}/{} dev {}; or give the rail an address of its own",
                      text.substr(0, text.find('/')), local->prefix_length - (v4 ? 96 : 0), local->netdev));
    }
  }
}

}  // namespace tfabric::check
