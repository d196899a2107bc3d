#include "transport/tcp/rails/memif_rail.h"

#include <fmt/format.h>
#include <poll.h>
#include <sys/eventfd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <system_error>
#include <utility>

#include "base/log.h"
#include "base/random.h"
#include "base/thread.h"
#include "transport/tcp/nic/device_arguments.h"
#include "transport/tcp/rails/memory_need.h"
#include "transport/tcp/rails/rail_kinds.h"

namespace tfabric::tcp {
namespace {

// How long a peer may take to open its end, and how often it is asked meanwhile.
constexpr Duration kOpenTimeout = std::chrono::seconds(10);
constexpr Duration kAskInterval = std::chrono::milliseconds(50);
// How often links are looked at while there is nothing to open.
constexpr int kWatchMilliseconds = 20;

net::MacAddress mac_of(std::uint64_t process) {
  net::MacAddress mac{{0x02}};
  std::memcpy(&mac.bytes[1], &process, 5);
  return mac;
}

}  // namespace

net::IpAddress MemifRail::address_of(std::uint64_t process) {
  // RFC 4193 §3.1: fd, a global id ("tfabr"), a subnet, and the process as the interface's identifier.
  net::IpAddress address;
  constexpr std::uint8_t kPrefix[] = {0xfd, 't', 'f', 'a', 'b', 'r', 0, 1};
  std::memcpy(address.bytes.data(), kPrefix, sizeof kPrefix);
  std::memcpy(&address.bytes[8], &process, sizeof process);
  return address;
}

Result<std::unique_ptr<Rail>> MemifRail::open(const config::Rail& config, engine::Engine& engine,
                                              std::size_t engines) {
  const std::uint64_t process = random_u64() | 1;  // not 0
  const std::uint32_t mtu = effective_mtu(config);
  Result<std::unique_ptr<engine::Link>> loop =
      make_loop_link(config.name, {.name = config.name,
                                   .mac = mac_of(process),
                                   .mtu = static_cast<std::uint16_t>(mtu),
                                   .addresses = {{address_of(process), 64}}});
  if (!loop) {
    return loop.error();
  }
  Result<Descriptor> control = open_memif_control(process);
  if (!control) {
    return Error{control.error().code, fmt::format("rail {}: {}", config.name, control.error().message)};
  }
  Descriptor wake(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  if (wake.get() < 0) {
    return Error{Errc::system, fmt::format("rail {}: no eventfd for its thread: {}; raise `ulimit -n`",
                                           config.name, std::generic_category().message(errno))};
  }
  engine::Link* loop_link = loop->get();
  {
    const EngineGuard guard(engine.lock());
    engine.add_link(std::move(*loop));
  }
  return std::unique_ptr<Rail>(
      new MemifRail(config, engine, engines, process, std::move(*control), std::move(wake), loop_link));
}

MemifRail::MemifRail(const config::Rail& config, engine::Engine& engine, std::size_t engines,
                     std::uint64_t process, Descriptor control, Descriptor wake, engine::Link* loop)
    : Rail(config),
      engine_(&engine),
      process_(process),
      mtu_(effective_mtu(config)),
      receive_share_(make_receive_share(config, engines)),
      control_(std::move(control)),
      loop_(loop),
      wake_(std::move(wake)) {
  thread_ = start_thread("tfabric-memif", [this] { run(); });
}

MemifRail::~MemifRail() {
  {
    const std::lock_guard guard(mutex_);
    stop_ = true;
  }
  eventfd_write(wake_.get(), 1);
  thread_.join();
}

Result<Route> MemifRail::route_to(const net::IpAddress& /*peer*/, std::uint64_t peer_process) {
  const Result<engine::Link*> link = link_to(peer_process);
  if (!link) {
    return link.error();
  }
  return Route{.link = *link, .remote = address_of(peer_process)};
}

Result<engine::Link*> MemifRail::link_to(std::uint64_t peer_process) {
  if (peer_process == process_) {
    return loop_;
  }
  if (peer_process == 0) {
    return Error{
        Errc::invalid_usage,
        fmt::format(
            "rail {} joins processes of one host by shared memory, and the peer is on another kind of "
            "rail: configure a NIC as the rail on both hosts",
            config().name)};
  }
  const auto [found, fresh] = peers_.try_emplace(peer_process);
  Peer& peer = found->second;
  if (fresh) {
    peer.since = monotonic_now();
    {
      const std::lock_guard guard(mutex_);
      wanted_.insert(peer_process);
    }
    eventfd_write(wake_.get(), 1);
  }
  if (!peer.failure.empty()) {
    Error error{Errc::remote, peer.failure};
    peers_.erase(found);  // a later attempt starts anew
    return error;
  }
  if (peer.link != nullptr && peer.link->port().link_up()) {
    peer.was_up = true;
    return peer.link;
  }
  return static_cast<engine::Link*>(nullptr);
}

// --- the rail's thread

void MemifRail::run() {
  for (;;) {
    pollfd fds[2] = {{control_.get(), POLLIN, 0}, {wake_.get(), POLLIN, 0}};
    poll(fds, 2, kWatchMilliseconds);
    eventfd_t ignored = 0;
    eventfd_read(wake_.get(), &ignored);
    {
      const std::lock_guard guard(mutex_);
      if (stop_) {
        return;
      }
    }
    take_requests();
    open_links();
    watch_links();
  }
}

// The server's end must be open before the client connects to it, so the two sides differ. A server opens its
// end as soon as it wants the link or is asked for it, and then says so in a datagram. A client asks, and
// opens its end when it hears from the server.
void MemifRail::take_requests() {
  while (const auto process = next_memif_request(control_.get())) {
    const EngineGuard guard(engine_->lock());
    const auto [found, fresh] = peers_.try_emplace(*process);
    if (fresh) {
      found->second.since = monotonic_now();
    }
    if (found->second.link == nullptr) {
      openable_.insert(*process);
    } else if (is_server_for(*process)) {
      ask(*process);
    }
  }
}

void MemifRail::open_links() {
  std::set<std::uint64_t> wanted;
  {
    const std::lock_guard guard(mutex_);
    wanted.swap(wanted_);
  }
  for (const std::uint64_t process : wanted) {
    if (is_server_for(process)) {
      openable_.insert(process);
    } else {
      ask(process);
    }
  }
  for (const std::uint64_t process : std::exchange(openable_, {})) {
    open_link(process);
  }
}

void MemifRail::open_link(std::uint64_t process) {
  // Opening a port takes milliseconds, in which other threads need the engine.
  Result<std::unique_ptr<engine::Link>> link = make_link(process);
  if (link && is_server_for(process)) {
    ask(process);
  }
  const EngineGuard guard(engine_->lock());
  const auto found = peers_.find(process);
  if (found == peers_.end()) {
    return;
  }
  Peer& peer = found->second;
  if (!link) {
    peer.failure = link.error().message;
    return;
  }
  peer.failure.clear();
  peer.link = link->get();
  peer.asked = monotonic_now();
  engine_->add_link(std::move(*link));
}

Result<std::unique_ptr<engine::Link>> MemifRail::make_link(std::uint64_t peer) const {
  const std::string device = nic::memif_arguments(
      {.socket = fmt::format("tfabric-{:016x}-{:016x}", std::min(process_, peer), std::max(process_, peer)),
       .abstract = true,
       .server = is_server_for(peer),
       .mtu = mtu_});
  Result<std::unique_ptr<nic::Port>> port = nic::Port::open({.name = config().name,
                                                             .device = device,
                                                             .mtu = static_cast<std::uint16_t>(mtu_),
                                                             .rx_pool = loop_->port().rx_pool()});
  if (!port) {
    return port.error();
  }
  net::InterfaceConfig interface {
    .name = config().name, .mac = mac_of(process_), .mtu = static_cast<std::uint16_t>(mtu_),
    .addresses = {{address_of(process_), 64}}, .point_to_point = true, .trusted_wire = true
  };
  return std::make_unique<engine::Link>(std::move(*port), std::move(interface),
                                        link_options(config(), TransmitAccess::cpu, receive_share_));
}

void MemifRail::ask(std::uint64_t process) const {
  // A peer that does not listen may be about to open its socket again; kOpenTimeout covers one that never
  // does.
  static_cast<void>(ask_memif_peer(control_.get(), process_, process));
}

void MemifRail::ask_again(std::uint64_t process, Peer& peer, Instant now) const {
  // A server whose end is not open yet has nothing to say: open_link() will.
  const bool may_ask = peer.link != nullptr || !is_server_for(process);
  if (may_ask && !peer.was_up && now - peer.asked >= kAskInterval) {
    peer.asked = now;
    ask(process);
  }
}

std::string MemifRail::failure_of(std::uint64_t process, const Peer& peer, bool up, Instant now) const {
  const bool late = !peer.was_up && now - peer.since >= kOpenTimeout;
  if (!late && (!peer.was_up || up)) {
    return {};
  }
  return fmt::format(
      "rail {}: process {:016x} of this host {}", config().name, process,
      late ? "does not answer (it has ended, or runs in another network namespace)" : "has ended");
}

// Notices links that have come up, asks again for those that have not, and takes dead ones away.
void MemifRail::watch_links() {
  std::vector<std::unique_ptr<engine::Link>> dead;  // closed after the engine's lock is released
  const EngineGuard guard(engine_->lock());
  const Instant now = monotonic_now();
  for (auto i = peers_.begin(); i != peers_.end();) {
    Peer& peer = i->second;
    const bool up = peer.link != nullptr && peer.link->port().link_up();
    peer.was_up = peer.was_up || up;
    ask_again(i->first, peer, now);
    if (peer.failure.empty()) {
      peer.failure = failure_of(i->first, peer, up, now);
      if (!peer.failure.empty() && peer.link != nullptr) {
        dead.push_back(engine_->remove_link(*peer.link));
        peer.link = nullptr;
      }
      if (!peer.failure.empty() && peer.was_up) {  // a later attempt finds it gone, and starts anew
        i = peers_.erase(i);
        continue;
      }
    }
    ++i;
  }
}

}  // namespace tfabric::tcp
