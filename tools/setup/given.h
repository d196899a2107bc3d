// What the administrator says of NICs on the command line, since the kernel does not know it: an ENI that no
// network manager has configured has no address.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "base/result.h"

namespace tfabric::setup {

struct GivenNetwork {
  std::vector<std::string> addresses;  // "10.0.1.5/24"; none: those of the interface
  std::string gateway, gateway6;       // empty: that of the interface
};

// By the NIC as it was named, by its PCI address or its interface.
using GivenNetworks = std::map<std::string, GivenNetwork>;

// Reads texts like "eth1=10.0.1.5/24" and "eth1=10.0.1.1" of --address and --gateway, each of which may name
// a NIC several times. Errc::invalid_usage: one of another form, or an address that no host can have.
Result<GivenNetworks> parse_given(const std::vector<std::string>& addresses,
                                  const std::vector<std::string>& gateways);

}  // namespace tfabric::setup
