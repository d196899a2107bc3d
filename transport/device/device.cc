#include "transport/device/device.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <utility>

#include "base/log.h"
#include "base/random.h"
#include "transport/comm/listener.h"
#include "transport/session/handshake.h"
#include "transport/session/peer_rails.h"

namespace tfabric::device {

Result<std::unique_ptr<transport::Listener>> Device::listen(transport::HandleBytes bytes,
                                                            const transport::ListenOptions& options) {
  session::Handle handle{.port = port_, .max_recvs = context_.options.max_recvs};
  if (Status status = fill_secret(handle.token); !status) {
    return status.error();
  }
  const auto offer = [&](const session::Endpoint& endpoint) {
    if (session::has_room_for(handle, endpoint, transport::room_in_handle(options))) {
      handle.endpoints.push_back(endpoint);
    }
  };
  for (const DeviceRail& each : rails_) {
    handle.process = handle.process == 0 ? each.rail->process() : handle.process;
    offer({.address = each.rail->address(), .port = each.rail->listening_port(), .role = each.role});
  }
  // A rail of the kernel's TCP listens at its address of the other family, too.
  for (const DeviceRail& each : rails_) {
    const std::vector<net::Prefix> networks = session::networks_of(each.rail->config().addresses);
    for (std::size_t i = 1; i < networks.size() && each.rail->listening_port() != 0; ++i) {
      offer({.address = networks[i].address, .port = each.rail->listening_port(), .role = each.role});
    }
  }
  session::write_handle(handle, bytes);
  return std::unique_ptr<transport::Listener>(
      std::make_unique<comm::Listener>(context_, *acceptor_, handle.token));
}

Result<std::unique_ptr<transport::SendComm>> Device::connect(transport::HandleBytes bytes,
                                                             const transport::ConnectOptions& options) {
  std::shared_ptr<Attempt> attempt;
  std::uint64_t number = transport::attempt_of(bytes);
  {
    const std::lock_guard guard(mutex_);
    if (const auto found = attempts_.find(number); found != attempts_.end()) {
      attempt = found->second;
    }
  }
  if (attempt == nullptr) {
    Result<session::Handle> peer = session::read_handle(bytes);
    if (!peer) {
      return peer.error();
    }
    attempt = std::make_shared<Attempt>(Attempt{std::move(*peer), options.traffic_class,
                                                context_.engine.now(), context_.engine.paused(), nullptr});
    drop_abandoned();
    const std::lock_guard guard(mutex_);
    number = next_attempt_;
    next_attempt_ += attempt_step_;
    attempts_[number] = attempt;
    transport::set_attempt(bytes, number);
  }
  Result<bool> ready = advance(*attempt);
  if (ready && !*ready) {
    return std::unique_ptr<transport::SendComm>();
  }
  transport::set_attempt(bytes, 0);
  {
    const std::lock_guard guard(mutex_);
    attempts_.erase(number);
  }
  if (!ready) {
    return ready.error();
  }
  return std::unique_ptr<transport::SendComm>(std::move(attempt->comm));
}

void Device::drop_abandoned() {
  const Duration longest = 2 * Duration(context_.options.connect_timeout);
  // Destroyed after the lock is released, since that takes the engine's lock.
  std::vector<std::shared_ptr<Attempt>> abandoned;
  const std::lock_guard guard(mutex_);
  for (auto i = attempts_.begin();
       i != attempts_.end() && context_.engine.now() - i->second->since > longest;) {
    abandoned.push_back(std::move(i->second));
    i = attempts_.erase(i);
  }
}

Result<bool> Device::advance(Attempt& attempt) {
  if (attempt.comm == nullptr) {
    if (Result<bool> opened = open_lanes(attempt); !opened) {
      return opened.error();
    }
  }
  context_.progress.poke();
  if (attempt.comm != nullptr && attempt.comm->ready()) {
    return true;  // if it has failed since, as when the peer has closed its end, its first request says why
  }
  const Duration paused = context_.engine.paused() - attempt.paused;
  const bool late = context_.engine.now() - attempt.since - paused > context_.options.connect_timeout;
  if (late && attempt.comm != nullptr) {
    const engine::Guard guard(context_.engine.lock());
    attempt.comm->fail_if_silent();
  }
  if (attempt.comm != nullptr && attempt.comm->failed()) {
    // A SYN has the same time limit as the attempt, and may reach it first.
    if (attempt.comm->timed_out()) {
      return explain_timeout(attempt);
    }
    return Error{
        attempt.comm->error().code,
        fmt::format("cannot connect to {}: {}", net::to_string(attempt.peer.endpoints.front().address),
                    attempt.comm->error().message)};
  }
  if (late) {
    return explain_timeout(attempt);
  }
  return false;
}

// A rail that can reach none of the peer's is left out, unless there is no other.
Error Device::no_way_to(const session::Handle& peer, const std::optional<Error>& why) const {
  const session::Endpoint& first = peer.endpoints.front();
  if (why) {
    return *why;
  }
  const bool kinds = std::none_of(rails_.begin(), rails_.end(), [&](const DeviceRail& each) {
    return (each.rail->listening_port() != 0) == (first.port != 0);
  });
  return {Errc::unusable,
          kinds
              ? fmt::format("{} has only rails of {}, and this process none: give the hosts of a job the "
                            "same kinds of rails",
                            net::to_string(first.address),
                            first.port != 0 ? "the kernel's TCP (kind kernel)" : "tfabric's own TCP")
              : fmt::format("{} cannot be reached by any rail of this process: they have no address of that "
                            "family. Give the rails of both hosts addresses of one family, IPv4 or IPv6",
                            net::to_string(first.address))};
}

// Over those rails whose lanes are opened by offers. Which of the peer's they meet, it says later.
std::vector<comm::SendRoute> Device::offered_routes(const session::Handle& peer) {
  std::vector<comm::SendRoute> routes;
  const std::size_t count = context_.offered == nullptr ? 0 : context_.offered->count();
  for (std::size_t i = 0; i < count; ++i) {
    lane::OfferingCarrier* carrier = context_.offered->at(i);
    if (carrier == nullptr) {
      continue;
    }
    const std::uint32_t lanes = context_.options.offered_lanes;
    const bool reserve = context_.offered->is_in_reserve(i);
    routes.push_back({.rank = reserve ? session::RouteClass::reserve : session::RouteClass::own,
                      .carrier = carrier->number(),
                      .rail_number = static_cast<std::uint16_t>(i),
                      .path = context_.peers.paths.path(carrier->name(), peer.endpoints.front().address,
                                                        {.network = true, .flows = lanes, .most = lanes}),
                      .wanted = lanes,
                      .joined = {},
                      .by_offer = true,
                      .meets = {}});
  }
  return routes;
}

// Returns none while the link of one of the device's own rails is being made.
Result<std::vector<comm::SendRoute>> Device::routes_to(const session::Handle& peer) {
  std::vector<session::RailEnd> ours, theirs;
  for (const DeviceRail& each : rails_) {
    ours.push_back({.kind = session::rail_kind(each.rail->listening_port()),
                    .role = each.role,
                    .addresses = session::networks_of(each.rail->config().addresses)});
  }
  const std::vector<session::PeerRail> peers = session::peer_rails(peer.endpoints);
  std::transform(peers.begin(), peers.end(), std::back_inserter(theirs),
                 [](const session::PeerRail& each) { return each.end; });
  std::vector<comm::SendRoute> routes;
  std::vector<comm::SendRoute> offered = offered_routes(peer);
  std::optional<Error> why_none;
  for (const session::RailPair& pair : session::pair_rails(ours, theirs)) {
    const session::Endpoint& end = *session::nearest_of(ours[pair.ours], peers[pair.theirs]);
    rails::Rail& rail = *rails_[pair.ours].rail;
    if (rail.absent()) {
      continue;
    }
    const Result<rails::Way> way = way_over(rail, end.address, peer.process);
    if (!way) {
      why_none = why_none ? why_none : way.error();
      note_no_way(pair, way.error());
      continue;
    }
    if (way->carrier == nullptr) {
      if (routes.empty() || pair.rank == routes.front().rank) {
        return std::vector<comm::SendRoute>();
      }
      continue;
    }
    const bool spare = std::any_of(routes.begin(), routes.end(), [&](const comm::SendRoute& other) {
      return other.rank == pair.rank && (other.rail_number == pair.ours || other.remote == way->remote);
    });
    auto path = path_to(rail, end.address);
    const std::uint32_t lanes = path->flows();
    const bool unlike = pair.rank == session::RouteClass::reserve && !offered.empty();
    routes.push_back({.rank = unlike ? session::RouteClass::substitute : pair.rank,
                      .carrier = way->carrier->number(),
                      .rail_number = static_cast<std::uint16_t>(pair.ours),
                      .remote = way->remote,
                      .port = end.port == 0 ? peer.port : end.port,
                      .path = std::move(path),
                      .wanted = lanes,
                      .joined = {},
                      .spare = spare,
                      .meets = {}});
  }
  if (routes.empty()) {
    return no_way_to(peer, why_none);
  }
  if (!offered.empty()) {  // offers go over what costs least while it has nothing to carry
    const auto first = std::find_if(routes.begin(), routes.end(), [&](const comm::SendRoute& route) {
      return route.rank == routes.back().rank;
    });
    first->always = true;
  }
  std::move(routes.begin(), routes.end(), std::back_inserter(offered));
  return offered;
}

// Returns a carrier of none while the link is being made.
Result<rails::Way> Device::way_over(rails::Rail& rail, const net::IpAddress& peer, std::uint64_t process) {
  Result<rails::Way> way = rail.way_to(peer, process);
  if (way && way->carrier != nullptr && !way->carrier->has_family_of(way->remote)) {
    return Error{Errc::unusable, fmt::format("rail {} cannot reach {}: it has no address of that family",
                                             rail.config().name, net::to_string(way->remote))};
  }
  return way;
}

// Once for each rail: a job has many peers, and they are alike.
void Device::note_no_way(const session::RailPair& pair, const Error& why) {
  DeviceRail& ours = rails_[pair.ours];
  if (pair.rank == session::RouteClass::own && !std::exchange(ours.said_no_way, true)) {
    TF_INFO("NET/tfabric: {}; what it would carry goes over the others", why.message);
  }
}

std::shared_ptr<flows::Path> Device::path_to(const rails::Rail& rail, const net::IpAddress& remote) {
  const comm::CommOptions& options = context_.options;
  // Shared memory neither limits single connections nor has several paths.
  const bool network = !config::is_automatic_memif(rail.config()) && remote != rail.address();
  flows::FlowChoice choice{.network = network,
                           .flows = options.flows,
                           .most = options.flows,
                           .speed_mbps = rail.config().speed_mbps};
  if (options.flows == 0) {
    choice.measured = network;
    choice.flows = 1;
    choice.most = network ? options.max_flows : 1;
  }
  return context_.peers.paths.path(rail.config().name, remote, choice);
}

// Opens the lanes that the comm begins with, once every link that they need is there.
Result<bool> Device::open_lanes(Attempt& attempt) {
  const session::Handle& peer = attempt.peer;
  const engine::Guard guard(context_.engine.lock());
  Result<std::vector<comm::SendRoute>> routes = routes_to(peer);
  if (!routes) {
    return routes.error();
  }
  if (routes->empty()) {
    return false;
  }
  session::Hello hello{
      .token = peer.token, .comm = random_u64(), .witness = context_.peers.processes.contact()};
  if (Status status = fill_secret(hello.nonce); !status) {
    return status.error();
  }
  std::vector<std::pair<std::uint16_t, net::IpAddress>> ends;
  for (const comm::SendRoute& route : *routes) {
    ends.emplace_back(route.rail_number, route.remote);
  }
  comm::Context context = context_;
  context.options.traffic_class = attempt.traffic_class;
  auto comm = std::make_unique<comm::SendComm>(context, hello, peer.max_recvs, std::move(*routes));
  if (const auto impossible = comm->open_lanes()) {
    const auto& [number, remote] = ends[impossible->value];
    comm->fail_from_outside(
        {Errc::unusable, fmt::format("rail {} cannot reach {}: no local port is free",
                                     rails_[number].rail->config().name, net::to_string(remote))});
  }
  attempt.comm = std::move(comm);
  return true;
}

Error Device::explain_timeout(const Attempt& attempt) const {
  const session::Endpoint& first = attempt.peer.endpoints.front();
  const auto passed =
      std::chrono::duration_cast<std::chrono::milliseconds>(context_.engine.now() - attempt.since).count();
  if (attempt.comm != nullptr && attempt.comm->welcomed()) {
    return {
        Errc::remote,
        fmt::format("cannot connect to {} over {}: the peer answers over the kernel's TCP, but in {} ms "
                    "({}) no lane has come about that carries memory of a GPU. Do the ports of both hosts "
                    "reach each other? `tfabric info` shows them, with their addresses",
                    net::to_string(first.address), properties_.name, passed, context_.options.connect_key)};
  }
  const bool subset = std::any_of(rails_.begin(), rails_.end(), [](const DeviceRail& each) {
    return config::has_queue_subset(each.rail->config());
  });
  const std::uint16_t port = first.port != 0 ? first.port : attempt.peer.port;
  return {
      Errc::remote,
      fmt::format(
          "cannot connect to {} port {} over {}: no answer for {} ms ({}). Is the "
          "peer alive, does a firewall or security group let TCP port {} through, are both hosts' rails on "
          "one network{}?",
          net::to_string(first.address), port, properties_.name, passed, context_.options.connect_key, port,
          subset ? ", do both NICs lead TCP ports to their queues (`ethtool -n`, docs/rails.md)" : "")};
}

Result<std::unique_ptr<transport::Listener>> SpreadDevice::listen(transport::HandleBytes handle,
                                                                  const transport::ListenOptions& options) {
  return devices_[listens_.fetch_add(1, std::memory_order_relaxed) % devices_.size()]->listen(handle,
                                                                                              options);
}

Result<std::unique_ptr<transport::SendComm>> SpreadDevice::connect(transport::HandleBytes handle,
                                                                   const transport::ConnectOptions& options) {
  // An attempt continues where it began.
  const std::uint64_t attempt = transport::attempt_of(handle);
  const std::size_t place = attempt == 0 ? connects_.fetch_add(1, std::memory_order_relaxed) : attempt - 1;
  return devices_[place % devices_.size()]->connect(handle, options);
}

}  // namespace tfabric::device
