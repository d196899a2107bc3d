#include "transport/session/peer_rails.h"

#include <algorithm>
#include <optional>

namespace tfabric::session {
namespace {

// An address without its network.
RailEnd end_of(const Endpoint& endpoint) {
  constexpr int kV4Bits = 32, kV6Bits = 128;
  return {.kind = rail_kind(endpoint.port),
          .role = endpoint.role,
          .addresses = {{endpoint.address, endpoint.address.is_v4() ? kV4Bits : kV6Bits}}};
}

bool is_other_family_of(const Endpoint& endpoint, const PeerRail& rail) {
  const Endpoint& first = *rail.endpoints.front();
  return rail.endpoints.size() == 1 && endpoint.port != 0 && endpoint.port == first.port &&
         endpoint.role == first.role && endpoint.address.is_v4() != first.address.is_v4();
}

}  // namespace

std::vector<PeerRail> peer_rails(std::span<const Endpoint> endpoints) {
  std::vector<PeerRail> rails;
  for (const Endpoint& endpoint : endpoints) {
    const auto known = std::find_if(rails.begin(), rails.end(),
                                    [&](const PeerRail& rail) { return is_other_family_of(endpoint, rail); });
    RailEnd end = end_of(endpoint);
    if (known == rails.end()) {
      rails.push_back({.end = std::move(end), .endpoints = {&endpoint}});
    } else {
      known->end.addresses.push_back(end.addresses.front());
      known->endpoints.push_back(&endpoint);
    }
  }
  return rails;
}

const Endpoint* nearest_of(const RailEnd& ours, const PeerRail& theirs) {
  return *std::max_element(theirs.endpoints.begin(), theirs.endpoints.end(),
                           [&](const Endpoint* a, const Endpoint* b) {
                             return nearness(ours, end_of(*a)) < nearness(ours, end_of(*b));
                           });
}

}  // namespace tfabric::session
