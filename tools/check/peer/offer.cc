#include <fmt/format.h>

#include <algorithm>
#include <string_view>

#include "config/address.h"
#include "tools/check/peer/peer.h"
#include "transport/examine.h"

namespace tfabric::check {
namespace {

// Returns true if the rail can send to the address, by a network of its own or by a gateway.
bool has_route(const OfferedRail& rail, const config::PrefixedAddress& peer) {
  const bool v4 = peer.bytes.size() == 4;
  if (!(v4 ? rail.gateway : rail.gateway6).empty()) {
    return true;
  }
  return std::any_of(rail.addresses.begin(), rail.addresses.end(), [&](const std::string& text) {
    const auto own = config::parse_prefixed(text);
    return own && config::in_network(*own, peer.bytes);
  });
}

void compare_routes(const OfferedRail& from, const OfferedRail& to, Findings& findings) {
  if (knows_way(from, to)) {
    return;
  }
  const bool v6 = to.addresses.front().find(':') != std::string::npos;
  findings.error(Id::peer_without_gateway, fmt::format("{} -> {}", from.name, to.name),
                 fmt::format("{} is in none of the networks of the rail ({}), which has no gateway",
                             to.addresses.front(), fmt::join(from.addresses, ", ")),
                 fmt::format("an address of one subnet at both ends, {} = \"…\" for {}, or the right prefix "
                             "length",
                             v6 ? "gateway6" : "gateway", from.name));
}

std::string without_prefix(const std::string& address) { return address.substr(0, address.find('/')); }

bool compare_addresses(const Offer& mine, const Offer& theirs, Findings& findings) {
  bool distinct = true;
  for (const OfferedRail& rail : mine.rails) {
    for (const OfferedRail& other : theirs.rails) {
      for (const std::string& address : rail.addresses) {
        // Two processes of one host may use one interface of the kernel's.
        if (!rail.by_kernel &&
            std::any_of(other.addresses.begin(), other.addresses.end(), [&](const std::string& each) {
              return without_prefix(each) == without_prefix(address);
            })) {
          distinct = false;
          findings.error(Id::peer_same_address, "rail " + rail.name,
                         fmt::format("{} has the same address {}", other.name, without_prefix(address)),
                         "give each host's rails addresses of their own");
        }
      }
    }
  }
  return distinct;
}

}  // namespace

// Peers connect to a rail by its first address. Of the kernel's rails, the kernel's routes decide.
bool knows_way(const OfferedRail& from, const OfferedRail& to) {
  const auto address = to.addresses.empty() ? std::nullopt : config::parse_prefixed(to.addresses.front());
  return from.by_kernel || !address || from.addresses.empty() || has_route(from, *address);
}

Offer make_offer(const config::Config& config, const transport::Transport& transport) {
  return {.network = transport.name(), .rails = transport::rail_networks(config, transport)};
}

void leave_one_subset(config::Tcp& config, Findings& findings) {
  const auto first = std::find_if(config.rails.begin(), config.rails.end(), config::has_queue_subset);
  if (first == config.rails.end()) {
    return;
  }
  const config::QueueRange kept = first->queues;
  std::erase_if(config.rails, [&](const config::Rail& rail) {
    const bool other = config::has_queue_subset(rail) &&
                       (rail.queues.first != kept.first || rail.queues.count != kept.count);
    if (other) {
      findings.note(
          Id::peer_not_tried, "rail " + rail.name,
          fmt::format("is not tried: it is other queues than those of the rails that are tried, and "
                      "a process has the same queues of all interfaces ({})",
                      rail.device));
    }
    return other;
  });
}

std::vector<std::pair<std::size_t, std::size_t>> pairs_of(const Offer& mine, const Offer& theirs) {
  return transport::meeting_rails(mine.network, mine.rails, theirs.rails);
}

bool compare_offers(const Offer& mine, const Offer& theirs, Findings& findings) {
  if (mine.network != theirs.network) {
    findings.error(Id::peer_network_differs, "peer",
                   fmt::format("this host uses {}, and the peer {}", mine.network, theirs.network),
                   "the same `transport`, and rails of the same kinds, at all hosts");
    return false;
  }
  if (mine.rails.size() != theirs.rails.size()) {
    findings.warning(Id::peer_rail_missing, "peer",
                     fmt::format("this host has {} rail(s), and the peer {}: the rest is not tried",
                                 mine.rails.size(), theirs.rails.size()),
                     "the same number of rails at all hosts");
  }
  if (!compare_addresses(mine, theirs, findings)) {
    return false;
  }
  for (const auto& [ours, others] : pairs_of(mine, theirs)) {
    const OfferedRail &own = mine.rails[ours], &other = theirs.rails[others];
    compare_routes(own, other, findings);
    compare_routes(other, own, findings);
    if (own.mtu != 0 && other.mtu != 0 && own.mtu != other.mtu) {
      findings.warning(
          Id::peer_mtu_differs, fmt::format("{} - {}", own.name, other.name),
          fmt::format("mtu is {} here and {} at the peer: the smaller one counts", own.mtu, other.mtu),
          fmt::format("mtu = {} at both, if their network carries it", std::max(own.mtu, other.mtu)));
    }
  }
  return true;
}

}  // namespace tfabric::check
