// The headers of multicast listener discovery (RFC 3810 §5, §6.2; RFC 2710 §3): multicast_listener.h says
// what to report.
#include <algorithm>
#include <array>

#include "transport/tcp/net/interface_impl.h"

namespace tfabric::net {
namespace {

constexpr std::uint8_t kMldHopLimit = 1;
constexpr std::size_t kV1Bytes = 24;
// The Router Alert option for MLD (RFC 2711 §2.1), and padding.
constexpr std::array<std::byte, 8> kRouterAlert{std::byte{0}, std::byte{0}, std::byte{5}, std::byte{2},
                                                std::byte{0}, std::byte{0}, std::byte{1}, std::byte{0}};

// RFC 3810 §6.2: what else than a querier's packet is dropped. Its link-local source proves, with the hop
// limit, that no router forwarded it.
bool is_of_this_link(const IpView& packet) {
  return packet.hop_limit == kMldHopLimit && packet.router_alert && packet.source.is_link_local();
}

}  // namespace

InputResult Interface::Impl::on_mld_query(const IpView& packet) {
  if (!is_of_this_link(packet)) {
    return malformed();
  }
  const bool answer = !listener.empty() && take_reply_token();
  if (!listener.on_query(packet.payload, answer, now)) {
    return malformed();
  }
  ++counters.mld;
  return {.kind = InputResult::Kind::handled};
}

InputResult Interface::Impl::on_mld_report(const IpView& packet) {
  if (!is_of_this_link(packet) || packet.payload.size() < kV1Bytes) {
    return malformed();
  }
  ++counters.mld;
  listener.on_report(v6_at(&packet.payload[8]));
  return {.kind = InputResult::Kind::handled};
}

// RFC 3810 §5.2.13 and RFC 3590 §4: the source is a link-local address, or unspecified where there is none.
// Routers ignore the latter, but no router forwards a solicited-node group; switches that snoop must take it.
void Interface::Impl::send_reports() {
  if (now < listener.next_deadline()) {
    return;
  }
  const auto local = std::find_if(config.addresses.begin(), config.addresses.end(), [](const Prefix& prefix) {
    return !prefix.address.is_v4() && prefix.address.is_link_local();
  });
  const IpAddress source = local == config.addresses.end() ? IpAddress{} : local->address;
  for (const MulticastListener::Report& report : listener.due(now)) {
    send_icmp(multicast_mac(report.destination), source, report.destination, report.message, kMldHopLimit,
              kRouterAlert);
  }
}

}  // namespace tfabric::net
