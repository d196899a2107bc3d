#include "transport/rdma/ports/open_port.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <limits>

#include "transport/rdma/meeting/own_offer.h"
#include "transport/rdma/pairs/block.h"

namespace tfabric::rdma {
namespace {

// libibverbs' code of a path MTU in bytes. A value between two codes gives the lower one.
ibv_mtu mtu_code(std::uint32_t bytes) {
  constexpr int kWidthOf256 = 9;
  return static_cast<ibv_mtu>(std::clamp(static_cast<int>(std::bit_width(bytes)) - kWidthOf256 + 1,
                                         static_cast<int>(IBV_MTU_256), static_cast<int>(IBV_MTU_4096)));
}

}  // namespace

OpenPort::OpenPort(const Verbs& verbs, const Hca& hca, Port port, Function function,
                   const config::Rdma& wishes, ProtectionDomain pd)
    : verbs_(&verbs),
      hca_(&hca),
      function_(function),
      wishes_(wishes),
      name_(port_name(hca, port, function)),
      pd_(std::move(pd)),
      registrations_(verbs, *pd_, wishes.relaxed_ordering != config::Switch::off,
                     function == Function::data_direct),
      port_(std::move(port)) {}

Result<std::unique_ptr<OpenPort>> OpenPort::open(const Verbs& verbs, const Hca& hca, const Port& port,
                                                 Function function, const config::Rdma& wishes) {
  auto pd = allocate_protection_domain(verbs, *hca.context);
  if (!pd) {
    return pd.error();
  }
  std::unique_ptr<OpenPort> opened(new OpenPort(verbs, hca, port, function, wishes, std::move(*pd)));
  if (const auto usual = opened->choose(std::nullopt); !usual) {
    return usual.error();
  }
  return opened;
}

ConnectionOptions OpenPort::connection() const {
  const bool adaptive =
      wishes_.adaptive_routing == config::Switch::on ||
      (wishes_.adaptive_routing == config::Switch::automatic && port().link_layer == LinkLayer::infiniband);
  ConnectionOptions options;
  options.adaptive_routing_bytes =
      adaptive ? wishes_.adaptive_routing_threshold : std::numeric_limits<std::uint64_t>::max();
  options.inline_bytes = wishes_.use_inline ? sizeof(pairs::Notice) : 0;
  options.pkey_index = static_cast<std::uint16_t>(wishes_.pkey);
  options.timeout = static_cast<std::uint8_t>(wishes_.timeout);
  options.retry_count = static_cast<std::uint8_t>(wishes_.retry_count);
  options.rnr_retry = static_cast<std::uint8_t>(wishes_.rnr_retry);
  options.rnr_timer = static_cast<std::uint8_t>(wishes_.rnr_timer);
  return options;
}

Port OpenPort::port() const {
  const std::lock_guard lock(mutex_);
  return port_;
}

void OpenPort::update(const Port& port) {
  const std::lock_guard lock(mutex_);
  port_ = port;
  if (const auto usual = choose(std::nullopt)) {
    usual_ = *usual;
  }
}

pairs::PortWays::Way OpenPort::usual() {
  const std::lock_guard lock(mutex_);
  return {.number = usual_, .about = ways_[usual_].about};
}

std::optional<pairs::PortWays::Way> OpenPort::way_to(const Peer& peer) {
  const std::lock_guard lock(mutex_);
  const auto number = choose(peer);
  return number ? std::optional(Way{.number = *number, .about = ways_[*number].about}) : std::nullopt;
}

const Rail& OpenPort::rail(std::size_t way) {
  const std::lock_guard lock(mutex_);
  return ways_[way].rail;
}

Result<std::size_t> OpenPort::choose(const std::optional<Peer>& peer) {
  const auto choice = choose_gid(port_.gids, wishes_, peer);
  if (!choice) {
    return Error{choice.error().code, fmt::format("{}: {}", name_, choice.error().message)};
  }
  if (choice->index > std::numeric_limits<std::uint8_t>::max()) {
    return Error{Errc::system,
                 fmt::format("{}: GID {} cannot be used: queue pairs support indices below 256 only", name_,
                             choice->index)};
  }
  const auto entry = std::find_if(port_.gids.begin(), port_.gids.end(),
                                  [&](const GidEntry& each) { return each.index == choice->index; });
  Known way{.rail = {}, .about = meeting::rail_of(*hca_, port_, *entry, wishes_)};
  way.rail = {.verbs = verbs_,
              .context = hca_->context.get(),
              .pd = pd_.get(),
              .name = name_,
              .port = port_.number,
              .gid_index = static_cast<std::uint8_t>(choice->index),
              .gid = choice->gid,
              .lid = port_.lid,
              .link_layer = port_.link_layer,
              .grh_required = port_.grh_required,
              .mtu = mtu_code(way.about.mtu),
              .max_message_bytes = port_.max_message_bytes};
  const auto known =
      std::find_if(ways_.begin(), ways_.end(), [&](const Known& each) { return each.rail == way.rail; });
  if (known != ways_.end()) {
    known->about = std::move(way.about);
    return static_cast<std::size_t>(known - ways_.begin());
  }
  ways_.push_back(std::move(way));
  return ways_.size() - 1;
}

}  // namespace tfabric::rdma
