// Addresses of rails that an interface of the kernel has as well.
#include <fmt/format.h>

#include <algorithm>
#include <string>

#include "config/address.h"
#include "transport/diagnosis/way_in.h"
#include "transport/rails/diagnosis/examine.h"

namespace tfabric::rails {
namespace {

// The address stays where the host is reached by it: without it, the administrator would be cut off.
std::string address_fix(const diagnosis::Host& host, const host::LocalAddress& local,
                        const std::string& plain, unsigned length) {
  if (const std::string way = diagnosis::way_in_by(host, local.netdev); !way.empty()) {
    return fmt::format("give the rail an address of its own: {} must keep {}, because {}", local.netdev,
                       plain, way);
  }
  return fmt::format("as root: ip address del {}/{} dev {}; or give the rail an address of its own", plain,
                     length, local.netdev);
}

}  // namespace

void check_addresses(const diagnosis::Host& host, const config::Rail& rail, Findings& findings) {
  for (const std::string& text : rail.addresses) {
    const auto address = config::parse_prefixed(text);
    if (!address) {
      continue;
    }
    const config::IpBytes bytes = config::mapped(address->bytes);
    const auto local = std::find_if(host.addresses.begin(), host.addresses.end(),
                                    [&](const auto& each) { return each.address == bytes; });
    if (local != host.addresses.end()) {
      const std::string plain = text.substr(0, text.find('/'));
      const unsigned mapped_bits = address->bytes.size() == 4 ? 96 : 0;
      findings.error(
          diagnosis::Id::address_on_kernel, "rail " + rail.name,
          fmt::format("the kernel has the address {} too, on its interface {}, and would reset tfabric's "
                      "connections",
                      plain, local->netdev),
          address_fix(host, *local, plain, local->prefix_length - mapped_bits));
    }
  }
}

}  // namespace tfabric::rails
