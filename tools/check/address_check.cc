#include "tools/check/address_check.h"

#include <fmt/format.h>

#include <algorithm>
#include <string>

#include "config/address.h"
#include "config/address_range.h"

namespace tfabric::check {
namespace {

// As LocalAddress has it.
config::IpBytes mapped(const config::PrefixedAddress& address) {
  config::IpBytes bytes{};
  if (address.bytes.size() == 4) {
    bytes[10] = bytes[11] = 0xff;
  }
  std::copy(address.bytes.begin(), address.bytes.end(), bytes.end() - std::ssize(address.bytes));
  return bytes;
}

}  // namespace

void check_addresses(const Host& host, const config::Rail& rail, Findings& findings) {
  for (const std::string& text : rail.addresses) {
    const auto address = config::parse_prefixed(text);
    if (!address) {
      continue;
    }
    const auto local = std::find_if(host.addresses.begin(), host.addresses.end(),
                                    [&](const auto& each) { return each.address == mapped(*address); });
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
