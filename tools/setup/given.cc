#include "tools/setup/given.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "config/address.h"

namespace tfabric::setup {
namespace {

struct Pair {
  std::string nic, value;
};

std::optional<Pair> split(const std::string& text) {
  const std::size_t equals = text.find('=');
  if (equals == std::string::npos || equals == 0 || equals + 1 == text.size()) {
    return std::nullopt;
  }
  return Pair{text.substr(0, equals), text.substr(equals + 1)};
}

// Returns true if all bits behind the prefix equal `value`.
bool ends_in(const config::PrefixedAddress& address, bool value) {
  for (std::size_t bit = address.length; bit < address.bytes.size() * 8; ++bit) {
    if (((address.bytes[bit / 8] >> (7 - bit % 8) & 1) != 0) != value) {
      return false;
    }
  }
  return true;
}

// RFC 1122 §3.2.1.3: the first and the last address of an IPv4 network are no host's; RFC 3021: unless the
// network has two addresses.
bool is_of_a_network(const config::PrefixedAddress& address) {
  constexpr unsigned kMost = 30;
  return address.bytes.size() == 4 && address.length <= kMost &&
         (ends_in(address, false) || ends_in(address, true));
}

Status add_address(const std::string& text, GivenNetworks& given) {
  const auto pair = split(text);
  const auto address = pair ? config::parse_prefixed(pair->value) : std::nullopt;
  if (!address) {
    return Error{Errc::invalid_usage,
                 fmt::format("--address {}: expected NIC=ADDRESS/LENGTH, such as eth1=10.0.1.5/24", text)};
  }
  if (is_of_a_network(*address)) {
    return Error{
        Errc::invalid_usage,
        fmt::format("--address {}: that is the address of a network, expected this host's own in it", text)};
  }
  std::vector<std::string>& addresses = given[pair->nic].addresses;
  if (std::find(addresses.begin(), addresses.end(), pair->value) == addresses.end()) {
    addresses.push_back(pair->value);
  }
  return {};
}

Status add_gateway(const std::string& text, GivenNetworks& given) {
  const auto pair = split(text);
  const auto bytes = pair ? config::address_bytes(pair->value) : std::vector<std::uint8_t>();
  if (bytes.empty()) {
    return Error{Errc::invalid_usage,
                 fmt::format("--gateway {}: expected NIC=ADDRESS, such as eth1=10.0.1.1", text)};
  }
  GivenNetwork& network = given[pair->nic];
  std::string& gateway = bytes.size() == 4 ? network.gateway : network.gateway6;
  if (!gateway.empty() && gateway != pair->value) {
    return Error{Errc::invalid_usage, fmt::format("--gateway {}: a rail has one gateway of IPv{}, and {} is "
                                                  "given already",
                                                  text, bytes.size() == 4 ? 4 : 6, gateway)};
  }
  gateway = pair->value;
  return {};
}

}  // namespace

Result<GivenNetworks> parse_given(const std::vector<std::string>& addresses,
                                  const std::vector<std::string>& gateways) {
  GivenNetworks given;
  for (const std::string& text : addresses) {
    if (Status status = add_address(text, given); !status) {
      return status.error();
    }
  }
  for (const std::string& text : gateways) {
    if (Status status = add_gateway(text, given); !status) {
      return status.error();
    }
  }
  return given;
}

}  // namespace tfabric::setup
