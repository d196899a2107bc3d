#include "transport/rdma/ports/open_port.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "base/log.h"
#include "transport/rdma/ports/comm_setup.h"
#include "transport/rdma/session/own_offer.h"

namespace tfabric::rdma {

OpenPort::OpenPort(const Verbs& verbs, const Hca& hca, Port port, Function function,
                   const config::Rdma& wishes, ProtectionDomain pd)
    : verbs_(&verbs),
      hca_(&hca),
      function_(function),
      wishes_(wishes),
      name_(fmt::format("{}{}:{}", hca.name, function == Function::data_direct ? "_dma" : "", port.number)),
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
  return std::unique_ptr<OpenPort>(new OpenPort(verbs, hca, port, function, wishes, std::move(*pd)));
}

OpenPort::~OpenPort() {
  const Counters all = comms_.totals();
  TF_INFO(
      "NET/tfabric: RDMA over {}: {} messages sent, {} received, {} flushes; {} work requests in {} "
      "doorbells, {} completions",
      name_, all.sent, all.received, all.flushes, all.work_requests, all.doorbells, all.completions);
}

Port OpenPort::port() const {
  const std::lock_guard lock(mutex_);
  return port_;
}

void OpenPort::update(const Port& port) {
  const std::lock_guard lock(mutex_);
  port_ = port;
}

Result<OpenPort::Route> OpenPort::route_to(const std::optional<Peer>& peer) {
  const std::lock_guard lock(mutex_);
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
  Route route{.rail = nullptr, .offered = session::rail_of(*hca_, port_, *entry, wishes_)};
  const Rail rail{.verbs = verbs_,
                  .context = hca_->context.get(),
                  .pd = pd_.get(),
                  .registrations = &registrations_,
                  .comms = &comms_,
                  .name = name_,
                  .port = port_.number,
                  .gid_index = static_cast<std::uint8_t>(choice->index),
                  .gid = choice->gid,
                  .lid = port_.lid,
                  .link_layer = port_.link_layer,
                  .grh_required = port_.grh_required,
                  .mtu = mtu_code(route.offered.mtu),
                  .max_message_bytes = port_.max_message_bytes};
  const auto known = std::find(rails_.begin(), rails_.end(), rail);
  route.rail = known == rails_.end() ? &rails_.emplace_back(rail) : &*known;
  return route;
}

}  // namespace tfabric::rdma
