#include "tests/simulation/rails/host.h"

#include <fmt/format.h>

#include <algorithm>
#include <stdexcept>

#include "base/random.h"
#include "tests/simulation/rails/virtual_host.h"
#include "transport/engine/rest.h"

namespace tfabric::simulation::rails {
namespace {

// What a turn takes, and the shortest of the keeper's pauses (engine/progress.cc).
constexpr Duration kTurn = std::chrono::microseconds(2);
constexpr Duration kRest = std::chrono::milliseconds(1);

link::Options tcp_options(const HostOptions& options) {
  link::Options made;
  made.tcp = options.tcp;
  made.port = 40000;
  return made;
}

}  // namespace

net::IpAddress Host::address_of(std::size_t host, std::size_t rail) {
  return net::IpAddress::v4({10, 77, static_cast<std::uint8_t>(host), static_cast<std::uint8_t>(rail + 1)});
}

Host::Host(Network& network, const HostOptions& options)
    : number_(options.number),
      network_(&network),
      first_nic_(network.nics()),
      engine_({.clock = virtual_now}),
      tcp_(link::add_tcp(engine_, tcp_options(options))),
      progress_(engine_, engine::ProgressMode::by_owner, -1, {&engine_}),
      acceptor_(peers_.comms),
      context_{engine_, progress_, regions_, options.comm, peers_},
      pending_(context_) {
  const engine::Guard guard(engine_.lock());
  fill_random(token_);
  acceptor_.add_listener(token_, pending_);
  engine_.set_acceptor(&acceptor_);
  for (std::size_t rail = 0; rail < options.cables.size(); ++rail) {
    const std::string name = fmt::format("host{}eth{}", number_, rail);
    auto port = nic::Port::open({.name = name,
                                 .device = {},
                                 .pipes = {network.add(address(rail), options.cables[rail])},
                                 .mtu = options.mtu,
                                 .rx_pool = options.pool});
    if (!port) {
      throw std::runtime_error(port.error().message);
    }
    link::LinkOptions link_options;
    link_options.congestion = options.congestion;
    auto link = std::make_unique<link::Link>(std::move(*port),
                                             net::InterfaceConfig{.name = name,
                                                                  .mtu = options.mtu,
                                                                  .addresses = {{address(rail), 16}},
                                                                  .point_to_point = true,
                                                                  .trusted_wire = true},
                                             link_options);
    links_.push_back(link.get());
    tcp_.add_link(std::move(link));
  }
}

Host::~Host() {
  const engine::Guard guard(engine_.lock());
  acceptor_.clear();
  engine_.set_acceptor(nullptr);
}

void Host::turn() {
  const engine::Guard guard(engine_.lock());
  busy_ = engine_.turn();
}

Instant Host::earliest_turn() const { return engine_.last_turn() + kTurn; }

Instant Host::next_turn() const {
  const Instant soon = earliest_turn();
  const Duration rest = engine::rest_after(engine_.last_turn() - engine_.last_work(), kRest);
  return busy_ ? soon : std::max(soon, std::min(engine_.last_turn() + rest, tcp_.next_deadline()));
}

Instant Host::next_arrival() const { return network_->next_arrival(first_nic_, links_.size()); }

}  // namespace tfabric::simulation::rails
