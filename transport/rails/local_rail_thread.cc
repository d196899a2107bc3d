// The thread of a LocalRail, which makes wires to other processes and takes them away.
#include <fmt/format.h>
#include <sys/eventfd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <system_error>
#include <utility>

#include "base/log.h"
#include "transport/rails/local_rail.h"
#include "transport/rails/rail_links.h"
#include "transport/tcp/link/tcp.h"

namespace tfabric::rails {
namespace {

// How often to connect again to a process whose socket has no room, to look whether a wire has drained, and
// to look at wires that nothing has happened to.
constexpr int kDialMilliseconds = 50, kDrainMilliseconds = 2, kWatchMilliseconds = 1000;
// Connections of processes that have not said who they are, and those that are accepted at a time.
constexpr std::ptrdiff_t kMostUnnamed = 64, kMostAtOnce = 64;
// A process asks once; two wires exist if both ask at the same time.
constexpr std::ptrdiff_t kMostWires = 2;

}  // namespace

void LocalRail::run() {
  while (wait()) {
    accept_all();
    dial_wanted();
    read_all();
    give_up_late();
    remove_ended();
  }
}

bool LocalRail::wait() {
  polled_ = {{wake_.get(), POLLIN, 0}};
  if (monotonic_now() >= deaf_until_ && count(Connection::State::unnamed) < kMostUnnamed) {
    polled_.push_back({listener_.get(), POLLIN, 0});
  }
  for (const Connection& connection : connections_) {
    if (connection.state != Connection::State::draining) {  // its socket would be readable for ever
      polled_.push_back({connection.socket.get(), POLLIN, 0});
    }
  }
  poll(polled_.data(), polled_.size(), patience());
  eventfd_t ignored = 0;
  eventfd_read(wake_.get(), &ignored);
  const std::lock_guard guard(mutex_);
  for (const std::uint64_t process : std::exchange(wanted_, {})) {
    dialling_.try_emplace(process, monotonic_now());
  }
  return !stop_;
}

std::ptrdiff_t LocalRail::count(Connection::State state) const {
  return std::count_if(connections_.begin(), connections_.end(),
                       [&](const Connection& connection) { return connection.state == state; });
}

int LocalRail::patience() const {
  if (count(Connection::State::draining) > 0) {
    return kDrainMilliseconds;
  }
  const bool waits = !dialling_.empty() || count(Connection::State::asking) > 0 ||
                     count(Connection::State::unnamed) > 0 || monotonic_now() < deaf_until_;
  return waits ? kDialMilliseconds : kWatchMilliseconds;
}

// Takes a bounded number at a time, strangers included, so that they cannot keep the thread here.
void LocalRail::accept_all() {
  const Instant now = monotonic_now();
  if (now < deaf_until_) {
    return;
  }
  for (std::ptrdiff_t i = 0; i < kMostAtOnce && count(Connection::State::unnamed) < kMostUnnamed; ++i) {
    LocalArrival arrival = accept_locally(listener_.get());
    if (arrival.kind == LocalArrival::Kind::none) {
      return;
    }
    if (arrival.kind == LocalArrival::Kind::failed) {
      deaf_until_ = now + std::chrono::milliseconds(kDialMilliseconds);
      return;
    }
    if (arrival.connection) {
      connections_.emplace_back(std::move(*arrival.connection), Connection::State::unnamed, now);
    }
  }
}

void LocalRail::dial_wanted() {
  for (const auto& [process, since] : std::exchange(dialling_, {})) {
    dial(process, since);
  }
}

void LocalRail::dial(std::uint64_t process, Instant since) {
  Result<std::optional<LocalConnection>> made = dial_locally(process);
  if (!made) {
    fail(process, made.error().message);
    return;
  }
  if (!*made) {
    if (monotonic_now() - since < answer_timeout_) {
      dialling_.emplace(process, since);
    } else {
      fail(process,
           fmt::format("the peer's socket @tfabric-{:016x} takes no connection: it has been stopped, "
                       "or others fill its queue",
                       public_name(process)));
    }
    return;
  }
  Connection& connection = connections_.emplace_back(std::move(**made), Connection::State::asking, since);
  connection.process = process;
  const LocalMessage hello{.kind = LocalMessage::Kind::hello, .from = process_, .to = process};
  if (!send_locally(connection.socket.get(), hello)) {
    give_up(connection, "has ended");
    connections_.pop_back();
  }
}

void LocalRail::read_all() {
  for (auto i = connections_.begin(); i != connections_.end();) {
    const auto connection = i++;
    if (connection->state == Connection::State::draining) {
      continue;
    }
    LocalIncoming incoming = receive_locally(connection->socket.get());
    if (incoming.kind == LocalIncoming::Kind::nothing) {
      continue;
    }
    if (connection->state == Connection::State::joined) {
      hang_up(*connection);  // there is nothing more to say: this is its end
    } else if (!on_message(*connection, incoming)) {
      connections_.erase(connection);
    }
  }
}

bool LocalRail::on_message(Connection& connection, LocalIncoming& incoming) {
  if (incoming.kind == LocalIncoming::Kind::end) {
    give_up(connection, "has ended");
    return false;
  }
  const LocalMessage& message = incoming.message;
  const bool unnamed = connection.state == Connection::State::unnamed;
  if (incoming.kind == LocalIncoming::Kind::message) {
    switch (message.kind) {
      case LocalMessage::Kind::refusal:
        give_up(connection, "cannot share memory with this one: its log says why");
        return false;
      case LocalMessage::Kind::hello:
        if (unnamed) {
          return on_hello(connection, message);
        }
        break;
      case LocalMessage::Kind::welcome:
        if (!unnamed) {
          return on_welcome(connection, incoming);
        }
    }
  }
  give_up(connection, "has sent what is no answer");
  return false;
}

bool LocalRail::on_hello(Connection& connection, const LocalMessage& hello) {
  // It must know what only our handles say. It may have given up long ago, if this process was stopped.
  if (hello.to != process_ || has_hung_up(connection.socket.get())) {
    return false;
  }
  connection.process = hello.from;
  const auto wires = std::count_if(connections_.begin(), connections_.end(), [&](const Connection& other) {
    return other.process == hello.from && other.state == Connection::State::joined;
  });
  if (wires >= kMostWires) {
    refuse(connection, fmt::format("it has {} wires already", wires));
    return false;
  }
  Result<nic::SharedWire::Made> made = nic::SharedWire::make();
  if (!made) {
    refuse(connection, made.error().message);
    return false;
  }
  connection.wire = std::move(made->wire);
  // The link is there before the other end can send.
  if (const Status status = make_link(connection); !status) {
    refuse(connection, status.error().message);
    return false;
  }
  const LocalMessage welcome{.kind = LocalMessage::Kind::welcome, .from = process_, .to = hello.from};
  if (!send_locally(connection.socket.get(), welcome, made->memory.get())) {
    if (const int error = errno; !has_hung_up(connection.socket.get())) {
      refuse(connection, "the memory's descriptor cannot be sent: " + std::generic_category().message(error));
    }
    hang_up(connection);
  }
  return true;
}

bool LocalRail::on_welcome(Connection& connection, LocalIncoming& incoming) {
  if (incoming.message.from != connection.process || incoming.message.to != process_) {
    give_up(connection, "is another one than the handle names");
    return false;
  }
  if (incoming.descriptor.get() < 0) {
    give_up(connection, "has sent memory that this process has no descriptor for: raise `ulimit -n`");
    return false;
  }
  constexpr const char* kUseless = "shares memory that this process cannot use: ";
  Result<std::shared_ptr<nic::SharedWire>> wire = nic::SharedWire::join(incoming.descriptor);
  if (!wire) {
    const bool theirs = wire.error().code == Errc::remote;
    give_up(connection, (theirs ? "does not share its memory: " : kUseless) + wire.error().message);
    return false;
  }
  connection.wire = std::move(*wire);
  const Status status = make_link(connection);
  if (!status) {
    give_up(connection, kUseless + status.error().message);
  }
  return status.ok();
}

Status LocalRail::make_link(Connection& connection) {
  Result<std::unique_ptr<nic::Port>> port = nic::Port::open({.name = config().name,
                                                             .device = {},
                                                             .pipes = {connection.wire},
                                                             .mtu = static_cast<std::uint16_t>(mtu_),
                                                             .rx_pool = loop_->port().rx_pool()});
  if (!port) {
    return port.error();
  }
  net::InterfaceConfig interface {
    .name = config().name, .mac = mac_of(process_), .mtu = static_cast<std::uint16_t>(mtu_),
    .addresses = {{address_of(process_), 64}}, .point_to_point = true, .trusted_wire = true
  };
  auto link =
      std::make_unique<link::Link>(std::move(*port), std::move(interface),
                                   link_options(config(), TransmitAccess::cpu, receive_share_, rehearsal_));
  connection.link = link.get();
  connection.state = Connection::State::joined;
  const engine::Guard guard(tcp_->engine().lock());
  Peer& peer = peers_[connection.process];
  if (peer.link == nullptr || !peer.link->port().link_up()) {
    peer.link = connection.link;
    peer.failure.clear();
  }
  tcp_->add_link(std::move(link));
  return {};
}

void LocalRail::hang_up(Connection& connection) {
  connection.wire->end();
  connection.state = Connection::State::draining;
}

void LocalRail::give_up(Connection& connection, const std::string& why) {
  if (connection.state == Connection::State::asking) {
    fail(connection.process, fmt::format("{} {}", connection.peer.to_string(), why));
  }
}

void LocalRail::refuse(Connection& connection, const std::string& why) {
  TF_WARN("NET/tfabric: rail {}: no shared memory with {} of this host: {}", config().name,
          connection.peer.to_string(), why);
  static_cast<void>(send_locally(connection.socket.get(), {.kind = LocalMessage::Kind::refusal}));
}

void LocalRail::give_up_late() {
  const Instant now = monotonic_now();
  connections_.remove_if([&](Connection& connection) {
    const bool waits =
        connection.state == Connection::State::unnamed || connection.state == Connection::State::asking;
    if (!waits || now - connection.since < answer_timeout_) {
      return false;
    }
    give_up(connection, fmt::format("does not answer for {:.1f} s: has it been stopped?",
                                    std::chrono::duration<double>(answer_timeout_).count()));
    return true;
  });
}

// Takes links away whose other end has gone, once nothing is left in them.
void LocalRail::remove_ended() {
  const Instant now = monotonic_now();
  if (count(Connection::State::draining) == 0 &&
      now - watched_ < std::chrono::milliseconds(kWatchMilliseconds)) {
    return;  // not each connection that is made to the listener shall cost the engine its lock
  }
  watched_ = now;
  std::vector<std::unique_ptr<link::Link>> dead;  // closed after the engine's lock is released
  const engine::Guard guard(tcp_->engine().lock());
  connections_.remove_if([&](Connection& connection) TF_IN_TURN {
    if (connection.link == nullptr || connection.link->port().link_up()) {
      return false;
    }
    if (connection.wire->broken()) {
      TF_WARN("NET/tfabric: rail {}: {} of this host has written nonsense into the memory that it shares",
              config().name, connection.peer.to_string());
    }
    dead.push_back(tcp_->remove_link(*connection.link));
    const auto peer = peers_.find(connection.process);
    if (peer != peers_.end() && peer->second.link == connection.link) {
      peers_.erase(peer);  // a later attempt finds it gone, and starts anew
    }
    return true;
  });
}

void LocalRail::fail(std::uint64_t process, const std::string& why) {
  const engine::Guard guard(tcp_->engine().lock());
  const auto peer = peers_.find(process);
  if (peer != peers_.end() && peer->second.link == nullptr) {
    peer->second.failure = fmt::format("rail {}: {}", config().name, why);
    peer->second.failed = monotonic_now();
  }
}

}  // namespace tfabric::rails
