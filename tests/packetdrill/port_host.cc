#include "tests/packetdrill/port_host.h"

#include <fmt/format.h>

#include <cstdio>
#include <cstdlib>

#include "tests/bench/memif_port.h"
#include "tests/packetdrill/profile.h"
#include "transport/comm/context.h"
#include "transport/tcp/link/tcp.h"
#include "transport/tcp/nic/eal.h"

namespace tfabric::drill {
namespace {

constexpr std::uint16_t kMtu = 1500;
// packetdrill's default port of a listening socket.
constexpr std::uint16_t kListeningPort = 8080;
constexpr Duration kPatience = std::chrono::seconds(10);

link::Options tcp_options() {
  link::Options options;
  options.port = kListeningPort;
  options.tcp = profile().options(/*ipv6=*/false);
  return options;
}

}  // namespace

std::unique_ptr<Host> make_host(const net::IpAddress& address, std::function<void()> after_event) {
  auto host = PortHost::open(address, std::move(after_event));
  if (!host) {
    std::fprintf(stderr, "the host under test: %s\n", host.error().message.c_str());
    std::exit(EXIT_FAILURE);
  }
  return std::move(*host);
}

PortHost::PortHost(std::function<void()> after_event)
    : Host(std::move(after_event)),
      engine_(engine::EngineOptions{}),
      tcp_(link::add_tcp(engine_, tcp_options())) {
  engine_.set_acceptor(this);
}

Result<std::unique_ptr<PortHost>> PortHost::open(const net::IpAddress& address,
                                                 std::function<void()> after_event) {
  if (!address.is_v4()) {
    return Error{Errc::invalid_usage, "it has IPv4 only"};
  }
  if (Status started = nic::start_eal({.hugepages = false, .memory_mib = 192}); !started) {
    return started.error();
  }
  std::unique_ptr<PortHost> host(new PortHost(std::move(after_event)));
  if (Status wired = host->open_wire(address); !wired) {
    return wired.error();
  }
  return host;
}

// The rest of the internet is behind a gateway, as it is for the hosts that the scripts were written for.
Status PortHost::open_wire(const net::IpAddress& address) {
  const bench::SocketFolder folder;  // the socket is not needed once the two ends have met
  if (!folder.made()) {
    return Error{Errc::system, "no folder for the socket can be made"};
  }
  net::IpAddress gateway = address;
  gateway.bytes.back() = static_cast<std::byte>(std::to_integer<unsigned>(gateway.bytes.back()) ^ 2u);
  auto wire = WireEnd::open(folder.socket(), kMtu, {gateway, 24});
  if (!wire) {
    return wire.error();
  }
  wire_ = std::move(*wire);
  const config::Rail rail{.name = "under test",
                          .kind = config::RailKind::memif,
                          .device = folder.socket(),
                          .addresses = {fmt::format("{}/24", net::to_string(address))},
                          .gateway = net::to_string(gateway),
                          .mtu = kMtu};
  link::Tcp* const tcp = &tcp_;
  const link::Options defaults;
  auto rails = rails::open_rail(rail, {&tcp, 1},
                                link::PortMap(defaults.first_port, defaults.ports, 1, kListeningPort));
  if (!rails) {
    return rails.error();
  }
  rail_ = std::move(rails->front());
  const auto way = rail_->way_to(gateway, 0);
  if (!way) {
    return way.error();
  }
  link_ = static_cast<link::Link*>(way->carrier);
  wire_->set_host(link_->interface().config().mac);
  for (const Instant deadline = now() + kPatience; !link_->port().link_up() || !wire_->link_up();) {
    if (now() > deadline) {
      return Error{Errc::remote, "the memif link did not come up"};
    }
    turn();
  }
  return {};
}

// --- sockets

void PortHost::adopt(Socket& socket, link::TcpFlow& flow) {
  flows_.resize(sockets().size());
  flows_[socket.number] = &flow;
  socket.connection = &flow.connection();
  socket.local = flow.key().local;
  socket.remote = flow.key().remote;
  socket.local_port = flow.key().ports.local;
  socket.remote_port = flow.key().ports.remote;
}

void PortHost::connect(Socket& socket, const net::IpAddress& remote, std::uint16_t port) {
  {
    const engine::Guard guard(engine_.lock());
    link::TcpFlow* flow = tcp_.connect(*link_, remote, port, this, socket.number);
    if (flow == nullptr) {
      socket.ended = stack::ConnectionError::unreachable;
      return;
    }
    adopt(socket, *flow);
  }
  turn();
}

void PortHost::end(Socket& socket, bool abort) {
  {
    const engine::Guard guard(engine_.lock());
    link::TcpFlow& flow = *flows_[socket.number];
    abort ? tcp_.abort(flow) : tcp_.close(flow);
    flows_[socket.number] = nullptr;
    socket.connection = nullptr;
    socket.ended = stack::ConnectionError::none;
  }
  turn();
}

void PortHost::send_segments(Socket& socket) {
  {
    const engine::Guard guard(engine_.lock());
    if (socket.connection != nullptr) {
      tcp_.wake(*flows_[socket.number]);
    }
  }
  turn();
}

bool PortHost::on_connection(engine::Flow& accepted) {
  auto& flow = static_cast<link::TcpFlow&>(accepted);
  Socket* listener = find_listener(flow.key().ports.local);
  if (listener == nullptr) {
    return false;
  }
  Socket& socket = open_for(*listener);
  adopt(socket, flow);
  flow.set_handler(this, socket.number);
  return true;
}

// It stays in the connection until it is read.
std::size_t PortHost::on_data(engine::Flow& flow, std::span<const std::byte> /*bytes*/) {
  socket_of(flow).last_data_received = now();
  event_ = true;
  return 0;
}

void PortHost::on_progress(engine::Flow& flow) {
  note_established(socket_of(flow));
  event_ = true;
}

void PortHost::on_failed(engine::Flow& flow, stack::ConnectionError error) {
  Socket& socket = socket_of(flow);
  socket.connection = nullptr;
  socket.ended = error;
  flows_[socket.number] = nullptr;
  event_ = true;
}

// --- time and packets

void PortHost::turn() {
  {
    const engine::Guard guard(engine_.lock());
    engine_.turn();
    for (std::vector<std::byte>& packet : wire_->receive()) {
      deliver_to_packetdrill(std::move(packet));
    }
  }
  if (event_) {
    event_ = false;
    after_event();
  }
}

Instant PortHost::read_clock() {
  turn();
  return now();
}

void PortHost::advance(Duration time) {
  const Instant until = now() + time;
  do {
    turn();
  } while (now() < until);
}

void PortHost::receive(std::span<const std::byte> packet) {
  const std::uint64_t before = link_->counters().rx_packets;
  const Instant deadline = now() + kPatience;
  bool sent = false;
  while ((!sent || link_->counters().rx_packets == before) && now() < deadline) {
    sent = sent || wire_->send(packet);
    turn();
  }
}

void PortHost::await_packet() {
  for (const Instant deadline = now() + kPatience; !has_sent() && now() < deadline;) {
    turn();
  }
}

}  // namespace tfabric::drill
