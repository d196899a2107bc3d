#include "transport/socket/socket_carrier.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <net/if.h>
#include <sys/epoll.h>
#include <sys/resource.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <optional>
#include <span>
#include <utility>

#include "base/log.h"
#include "host/limits.h"
#include "host/routes.h"
#include "transport/bootstrap/addresses.h"

namespace tfabric::socket {
namespace {

constexpr std::size_t kScratchBytes = 64u << 10;  // stays in a CPU's cache
constexpr int kEvents = 64;
constexpr int kAcceptsPerTurn = 64;
constexpr std::size_t kAsksPerTurn = 16;
// How often flows are looked at for what takes too long, and the interface for its link.
constexpr Duration kLookInterval = std::chrono::milliseconds(10);
constexpr Duration kLinkInterval = std::chrono::milliseconds(2);
// The same while no flow needs the carrier, as a life-boat's mostly does not.
constexpr Duration kIdleLinkInterval = std::chrono::milliseconds(100);
// A flow is read without epoll once it has brought something so often in a row, with less than a rest between
// two times. An empty read costs as much as an epoll_wait, so they are few; the others, and connections that
// come in, are looked at after so many turns.
constexpr int kHeat = 8;
constexpr Duration kRest = std::chrono::microseconds(100);
constexpr std::size_t kMostDirect = 4;
constexpr int kTurnsWithoutEvents = 8;
constexpr Duration kAcceptInterval = std::chrono::milliseconds(1);
// A carrier beside others that has moved nothing for so long is at rest, and then looked at so often.
constexpr Duration kBesideRest = std::chrono::milliseconds(5);
constexpr Duration kBesideInterval = std::chrono::milliseconds(2);
constexpr Duration kWarnInterval = std::chrono::seconds(10);

}  // namespace

Result<std::unique_ptr<SocketCarrier>> SocketCarrier::make(engine::Engine& engine, Options options) {
  const auto named = [&](const Error& error) {
    return Error{error.code, fmt::format("rail {}: {}", options.rail, error.message)};
  };
  Result<Listeners> listeners = listen(options.addresses);
  if (!listeners) {
    return named(listeners.error());
  }
  Descriptor epoll(::epoll_create1(EPOLL_CLOEXEC));
  epoll_event event{.events = EPOLLIN, .data = {.ptr = nullptr}};
  const bool watched =
      epoll.get() >= 0 && std::all_of(listeners->begin(), listeners->end(), [&](const auto& listener) {
        return ::epoll_ctl(epoll.get(), EPOLL_CTL_ADD, listener.socket.get(), &event) == 0;
      });
  if (!watched) {
    return named({Errc::unusable, fmt::format("cannot watch sockets by epoll: {}", std::strerror(errno))});
  }
  return std::unique_ptr<SocketCarrier>(
      new SocketCarrier(engine, std::move(options), std::move(*listeners), std::move(epoll)));
}

// Listens on each address, at one port for all: by that a peer knows that they are one rail's. The kernel
// chooses the port for the first, and another connection may have it at the second.
Result<SocketCarrier::Listeners> SocketCarrier::listen(const std::vector<net::IpAddress>& addresses) {
  constexpr int kTries = 16;
  std::optional<Error> last;
  for (int i = 0; i < kTries; ++i) {
    Listeners listeners;
    std::uint16_t port = 0;
    for (const net::IpAddress& address : addresses) {
      const config::IpBytes at = net::octets_of(address);
      Result<bootstrap::ListeningSocket> listener = bootstrap::listen_tcp(std::span(&at, 1), port);
      if (!listener) {
        last = listener.error();
        break;
      }
      port = listener->port;
      listeners.push_back(std::move(*listener));
    }
    if (listeners.size() == addresses.size()) {
      return listeners;
    }
    if (listeners.empty()) {
      break;
    }
  }
  return *last;
}

SocketCarrier::SocketCarrier(engine::Engine& engine, Options options, Listeners listeners, Descriptor epoll)
    : StreamCarrier({.answers_without_process = true,
                     .end_means_closed = false,
                     .reset_says_why = false,
                     .refusal_means_gone = true,
                     .retries_at_once = false,
                     .shows_packets = false}),
      engine_(&engine),
      options_(std::move(options)),
      listeners_(std::move(listeners)),
      port_(listeners_.front().port),
      epoll_(PrivateDescriptor(std::move(epoll))),
      sister_had_link_(options_.sisters.size()),
      now_(engine.now()) {}

SocketCarrier::~SocketCarrier() { halt(); }

// --- flows

SocketFlow* SocketCarrier::add(PrivateDescriptor socket, bool connected, engine::FlowHandler* handler,
                               std::size_t index) {
  set_limits(socket.get(), options_.limits);
  const int number = socket.get();
  auto flow = std::make_unique<SocketFlow>(*this, std::move(socket), connected, handler, index);
  if (!watch(number, *flow)) {
    return nullptr;
  }
  scratch_.resize(kScratchBytes);
  rests_until_ = {};
  flow->place_ = flows_.size();
  flows_.push_back(std::move(flow));
  look_at(*flows_.back());
  return flows_.back().get();
}

bool SocketCarrier::watch(int socket, SocketFlow& flow) {
  epoll_event event{.events = EPOLLIN | EPOLLOUT | EPOLLRDHUP | EPOLLET, .data = {.ptr = &flow}};
  return ::epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, socket, &event) == 0;
}

const net::IpAddress* SocketCarrier::own_address_for(const net::IpAddress& remote) const {
  const auto& own = options_.addresses;
  const auto found = std::find_if(own.begin(), own.end(),
                                  [&](const auto& address) { return address.is_v4() == remote.is_v4(); });
  return found == own.end() ? nullptr : &*found;
}

Result<PrivateDescriptor> SocketCarrier::dial(const bootstrap::SocketAddress& to, bool bound) const {
  const bootstrap::Source from{
      .ip = net::octets_of(*own_address_for(net::from_octets(to.ip))),
      .interface = bound ? options_.interface : std::string(),
      .segment = static_cast<int>(small_paths_.segment_to(net::from_octets(to.ip), now_))};
  return bootstrap::dial_tcp(to, &from);
}

engine::Flow* SocketCarrier::connect(const net::IpAddress& remote, std::uint16_t port,
                                     engine::FlowHandler* handler, std::size_t index) {
  if (!has_family_of(remote)) {
    return nullptr;
  }
  now_ = std::max(now_, engine_->last_turn());
  const bootstrap::SocketAddress to{.ip = net::octets_of(remote), .port = port};
  Result<PrivateDescriptor> socket = dial(to, shall_bind(remote));
  SocketFlow* flow = socket ? add(std::move(*socket), false, handler, index) : nullptr;
  if (flow != nullptr) {
    flow->dialled_ = to;
  } else if (now_ - warned_ >= kWarnInterval) {
    warned_ = now_;
    TF_WARN("NET/tfabric: rail {}: {}", name(),
            socket ? std::string("cannot watch a further socket by epoll") : socket.error().message);
  }
  return flow;
}

// Asks for the lowest number that is free, which is what the kernel gives.
bool SocketCarrier::is_scarce() {
  const Descriptor next(::fcntl(epoll_.get(), F_DUPFD_CLOEXEC, 0));
  if (!host::files_are_scarce(next.get())) {
    return false;
  }
  if (!std::exchange(told_scarce_, true)) {
    TF_WARN(
        "NET/tfabric: rail {}: this process has opened half of the {} files that `ulimit -n` allows: comms "
        "that have one connection get no further ones over other rails; raise the limit to have them all",
        name(), host::resource_limit(RLIMIT_NOFILE));
  }
  return true;
}

bool SocketCarrier::dial_unbound(SocketFlow& flow) {
  const net::IpAddress remote = net::from_octets(flow.dialled_.ip);
  if (!flow.bound_ || bindings_.works(remote)) {
    return false;
  }
  Result<PrivateDescriptor> socket = dial(flow.dialled_, /*bound=*/false);
  if (!socket || !flow.restart(*socket)) {
    return false;
  }
  bindings_.on_silence(remote, /*bound=*/true);
  set_limits(flow.socket_.get(), options_.limits);
  return watch(flow.socket_.get(), flow);
}

// A connection to an address of this host goes over the loopback interface, whatever the address. The kernel
// is asked at most once a second: after a cut all comms dial again at about the same time.
bool SocketCarrier::is_on_this_host(const config::IpBytes& ip) {
  constexpr Duration kFresh = std::chrono::seconds(1);
  if (own_addresses_.empty() || now_ - own_addresses_at_ >= kFresh) {
    own_addresses_ = host::local_addresses();
    own_addresses_at_ = now_;
  }
  return bootstrap::is_loopback(ip) ||
         std::any_of(own_addresses_.begin(), own_addresses_.end(),
                     [&](const host::LocalAddress& local) { return local.address == ip; });
}

// To a peer on this host the loopback interface leads, and where no route leads by the interface, nothing
// that is bound to it leaves this host.
bool SocketCarrier::shall_bind(const net::IpAddress& remote) {
  const net::IpAddress* own = own_address_for(remote);
  return options_.leads && own != nullptr && bindings_.binds(remote) &&
         !is_on_this_host(net::octets_of(remote)) &&
         host::has_route(options_.interface, net::octets_of(*own), net::octets_of(remote));
}

// Of two interfaces in one subnet, the kernel sends what is not bound by the first, whichever the connection
// came by. What came by another interface than the rail's is not the rail's path: a network where addresses
// move between interfaces, or a VRF, which has bound the connection already.
void SocketCarrier::bind_accepted(const bootstrap::AcceptedSocket& accepted) {
  const int socket = accepted.socket.get();
  if (options_.leads && !bootstrap::is_bound_to_interface(socket) &&
      bootstrap::arrival_interface(socket) == ::if_nametoindex(options_.interface.c_str()) &&
      shall_bind(net::from_octets(accepted.peer.ip))) {
    bootstrap::bind_to_interface(socket, options_.interface);
  }
}

void SocketCarrier::accept_all(int listening) {
  for (int i = 0; i < kAcceptsPerTurn; ++i) {
    Result<std::optional<bootstrap::AcceptedSocket>> accepted = bootstrap::accept_tcp(listening);
    engine_->note_work();
    if (!accepted || !*accepted) {
      if (!accepted && now_ - warned_ >= kWarnInterval) {
        warned_ = now_;
        TF_WARN("NET/tfabric: rail {}: {}", name(), accepted.error().message);
      }
      return;
    }
    bind_accepted(**accepted);
    engine::Acceptor* acceptor = engine_->acceptor();
    SocketFlow* flow = acceptor == nullptr ? nullptr : add(std::move((*accepted)->socket), true, nullptr, 0);
    if (flow != nullptr && !acceptor->on_connection(*flow)) {
      flow->abort();
    } else if (flow != nullptr) {
      want_read(*flow);
    }
  }
}

void SocketCarrier::end(SocketFlow& flow) {
  if (flow.phase_ == SocketFlow::Phase::over) {
    return;
  }
  if (engine_->observer() != nullptr) {
    engine_->observer()->on_flow_gone(flow);
  }
  note_end(flow);
  look_for_black_hole(flow);
  flow.phase_ = SocketFlow::Phase::over;
  flow.queue_.clear();
  flow.socket_.reset();
  std::erase(direct_, &flow);
  const std::size_t place = flow.place_;
  over_.push_back(std::move(flows_[place]));
  set_output(true);
  if (place + 1 != flows_.size()) {
    flows_[place] = std::move(flows_.back());
    flows_[place]->place_ = place;
  }
  flows_.pop_back();
}

void SocketCarrier::on_life(const SocketFlow& flow) { bindings_.on_life(flow.remote()); }

void SocketCarrier::note_end(const SocketFlow& flow) {
  if (options_.leads && flow.ends_in_silence(now_)) {
    bindings_.on_silence(flow.dialled_.port == 0 ? flow.remote() : net::from_octets(flow.dialled_.ip),
                         flow.bound_);
  }
}

void SocketCarrier::look_for_black_hole(const SocketFlow& flow) {
  if (flow.phase_ != SocketFlow::Phase::open) {
    return;
  }
  const LastView last = view_of(flow.socket_.get()).last;
  if (const auto smaller = small_paths_.on_end(flow.remote(), last, now_)) {
    TF_WARN(
        "NET/tfabric: rail {}: full packets ({} bytes of payload) to {} are lost without an ICMP error, and "
        "small ones arrive: connections are made for {} bytes; set the interface's MTU on all hosts to what "
        "the network carries (1500 works nearly everywhere), or make it carry more",
        name(), last.mss, net::to_string(flow.remote()), *smaller);
  }
}

void SocketCarrier::halt() {
  reads_.clear();
  writes_.clear();
  news_.clear();
  owing_.clear();
  direct_.clear();
  looked_.clear();
  over_.clear();
  flows_.clear();
}

bool SocketCarrier::owes_peers() const {
  return std::any_of(flows_.begin(), flows_.end(),
                     [](const auto& flow) { return flow->phase_ == SocketFlow::Phase::closing; });
}

// --- a turn

void SocketCarrier::want_read(SocketFlow& flow) {
  if (!std::exchange(flow.in_reads_, true)) {
    reads_.push_back(&flow);
  }
}

void SocketCarrier::want_write(SocketFlow& flow) {
  if (!std::exchange(flow.in_writes_, true)) {
    writes_.push_back(&flow);
    look_at(flow);
    moved_at_ = now_;
    rests_until_ = {};
    set_output(true);
  }
}

void SocketCarrier::owes_report(SocketFlow& flow) {
  if (!std::exchange(flow.in_owing_, true)) {
    owing_.push_back(&flow);
    hold_.begin(now_);
    set_output(true);
  }
}

void SocketCarrier::has_news(SocketFlow& flow) {
  if (!std::exchange(flow.in_news_, true)) {
    news_.push_back(&flow);
  }
}

bool SocketCarrier::take_events() {
  std::array<epoll_event, kEvents> events;
  const int count = ::epoll_wait(epoll_.get(), events.data(), kEvents, 0);
  for (const epoll_event& event : std::span(events).first(static_cast<std::size_t>(std::max(count, 0)))) {
    auto* flow = static_cast<SocketFlow*>(event.data.ptr);
    if (flow == nullptr) {
      for (const bootstrap::ListeningSocket& listener : listeners_) {
        accept_all(listener.socket.get());
      }
    } else if (flow->phase_ != SocketFlow::Phase::over) {
      flow->on_event(event.events, now_);
      want_read(*flow);
      want_write(*flow);
      has_news(*flow);
    }
  }
  return count > 0;
}

bool SocketCarrier::receive(Instant now) {
  now_ = now;
  bool any = false;
  if (direct_.empty() || ++turns_without_events_ >= kTurnsWithoutEvents) {
    turns_without_events_ = 0;
    any = take_events();
  }
  ask_flows();
  for (SocketFlow* flow : direct_) {
    flow->readable_ = true;
    want_read(*flow);
  }
  std::size_t kept = 0;
  std::size_t next = 0;
  while (next < reads_.size()) {  // handlers may add flows
    SocketFlow& flow = *reads_[next++];
    if (flow.phase_ != SocketFlow::Phase::over && flow.phase_ != SocketFlow::Phase::connecting &&
        flow.read(scratch_, now)) {
      any = true;
      has_news(flow);
      note_arrival(flow);
      engine_->note_work();
    }
    if (flow.phase_ != SocketFlow::Phase::over && (flow.readable_ || !flow.rest_.empty())) {
      reads_[kept++] = &flow;
    } else {
      flow.in_reads_ = false;
    }
  }
  reads_.resize(kept);
  moved_at_ = any ? now : moved_at_;
  watch_resting();
  pass_news();
  const bool rests = beside_ && now - moved_at_ >= kBesideRest;
  rests_until_ = flows_.empty() ? now + kAcceptInterval : rests ? now + kBesideInterval : Instant{};
  return any;
}

void SocketCarrier::note_arrival(SocketFlow& flow) {
  const bool soon = now_ - flow.arrival_ < kRest;
  flow.arrival_ = now_;
  flow.heat_ = soon ? static_cast<std::uint8_t>(std::min(flow.heat_ + 1, kHeat)) : std::uint8_t{0};
  if (flow.heat_ == kHeat && !flow.is_direct_ && direct_.size() < kMostDirect) {
    read_directly(flow);
  }
}

// What epoll would say, the socket says when it is read.
void SocketCarrier::read_directly(SocketFlow& flow) {
  const bool quiet =
      flow.phase_ == SocketFlow::Phase::open && flow.writable_ && !flow.hung_up_ && !flow.finished_;
  if (quiet && ::epoll_ctl(epoll_.get(), EPOLL_CTL_DEL, flow.socket_.get(), nullptr) == 0) {
    flow.is_direct_ = true;
    direct_.push_back(&flow);
  }
}

// Those that rest, or wait for room to write, are epoll's again, which says at once what has come meanwhile.
void SocketCarrier::watch_resting() {
  std::erase_if(direct_, [this](SocketFlow* flow) {
    const bool rests = now_ - flow->arrival_ >= kRest || !flow->writable_ || flow->finished_ ||
                       flow->has_failed() || flow->phase_ != SocketFlow::Phase::open;
    if (rests && watch(flow->socket_.get(), *flow)) {
      flow->is_direct_ = false;
      flow->heat_ = 0;
    }
    return !flow->is_direct_;
  });
}

// Handlers cause more news while they run; these are passed in the next round of this loop.
void SocketCarrier::pass_news() {
  while (!news_.empty()) {
    news_now_.swap(news_);
    for (SocketFlow* flow : news_now_) {
      flow->in_news_ = false;
      if (flow->phase_ == SocketFlow::Phase::over) {
        continue;
      }
      if (flow->has_failed()) {
        flow->hung_up_ = flow->readable_ = true;
        flow->read(scratch_, now_);
        if (flow->phase_ == SocketFlow::Phase::over) {
          continue;
        }
      }
      engine::FlowHandler* handler = flow->handler_;
      if (flow->has_failed()) {
        flow->handler_ = nullptr;
        end(*flow);
        if (handler != nullptr) {
          handler->on_failed(*flow, flow->error_);
        }
      } else if (handler != nullptr) {
        handler->on_progress(*flow);
      } else if (flow->phase_ == SocketFlow::Phase::finished && flow->finished_) {
        end(*flow);
      }
    }
    news_now_.clear();
  }
}

void SocketCarrier::ask_for_reports() {
  hold_.end();
  for (SocketFlow* flow : owing_) {
    flow->in_owing_ = false;
    if (flow->handler_ != nullptr && flow->phase_ != SocketFlow::Phase::over) {
      flow->handler_->on_report_due(*flow);
    }
  }
  owing_.clear();
}

bool SocketCarrier::send(Instant now, bool quiet) {
  now_ = now;
  if (hold_.is_over(now, quiet)) {
    ask_for_reports();
  }
  bool any = hold_.lasts();
  std::size_t kept = 0;
  for (SocketFlow* each : writes_) {
    SocketFlow& flow = *each;
    const bool lives = flow.phase_ != SocketFlow::Phase::over;
    any |= lives && flow.write(now);
    if (lives && flow.writable_ && !flow.queue_.empty() && !flow.has_failed()) {
      writes_[kept++] = &flow;
    } else {
      flow.in_writes_ = false;
    }
  }
  writes_.resize(kept);
  if (!over_.empty()) {
    const auto is_over = [](const SocketFlow* flow) { return flow->phase_ == SocketFlow::Phase::over; };
    std::erase_if(reads_, is_over);
    std::erase_if(news_, is_over);
    std::erase_if(owing_, is_over);
    std::erase_if(looked_, is_over);
    over_.clear();
  }
  set_output(!writes_.empty() || hold_.lasts());
  return any;
}

void SocketCarrier::on_time(Instant now) {
  now_ = now;
  if (now >= next_link_) {
    next_link_ = now + (flows_.empty() || beside_ ? kIdleLinkInterval : kLinkInterval);
    watch_link(now);
    watch_sisters();
  }
  if (now >= next_look_) {
    next_look_ = now + kLookInterval;
    look_at_flows();
  }
}

// An idle job has thousands of flows that rest.
void SocketCarrier::look_at(SocketFlow& flow) {
  if (!std::exchange(flow.in_looked_, true)) {
    looked_.push_back(&flow);
  }
}

// Some of them in each turn, by turns.
void SocketCarrier::ask_flows() {
  for (std::size_t i = std::min(looked_.size(), kAsksPerTurn); i > 0; --i) {
    next_asked_ = next_asked_ + 1 < looked_.size() ? next_asked_ + 1 : 0;
    if (looked_[next_asked_]->phase_ != SocketFlow::Phase::over) {
      looked_[next_asked_]->ask(now_);
    }
  }
}

void SocketCarrier::look_at_flows() {
  std::size_t kept = 0;
  for (SocketFlow* each : looked_) {  // a look tells no handler, so none is added
    SocketFlow& flow = *each;
    if (flow.phase_ != SocketFlow::Phase::over) {
      flow.look(now_);
    }
    if (flow.phase_ != SocketFlow::Phase::over && !flow.may_rest()) {
      looked_[kept++] = &flow;
    } else {
      flow.in_looked_ = false;
    }
  }
  looked_.resize(kept);
}

// --- the interface

void SocketCarrier::watch_link(Instant now) {
  const bool was_away = is_away();
  const host::InterfaceQuery::State state = interfaces_.state(options_.interface);
  const engine::LinkWatch::News news = watch_.look(state.up && state.has_link, now);
  if (!was_away && is_away()) {
    std::vector<SocketFlow*> flows;  // handlers may open and end some
    for (const auto& flow : flows_) {
      flows.push_back(flow.get());
    }
    for (SocketFlow* flow : flows) {
      if (flow->handler_ != nullptr && !flow->has_failed()) {
        flow->handler_->on_link_away(*flow);
      }
    }
  }
  if (options_.announces) {
    engine::log_news(news, watch_, name(),
                     "look for its cable and the switch's port, or whether the interface was taken down",
                     now);
  }
}

// Hosts answer ARP for all of their addresses by each of their interfaces in a network (arp_ignore = 0), so
// peers may send what is for this interface to its sister, and connections that came that way are not bound.
// Once the sister has lost its link, what is not bound must go by this one, and peers must learn where it is.
void SocketCarrier::watch_sisters() {
  for (std::size_t i = 0; i < options_.sisters.size(); ++i) {
    const host::InterfaceQuery::State state = interfaces_.state(options_.sisters[i].netdev);
    const bool has_link = state.up && state.has_link;
    if (sister_had_link_[i] && !has_link && !is_away()) {
      stand_in_for(options_.sisters[i]);
    }
    sister_had_link_[i] = has_link;
  }
}

void SocketCarrier::stand_in_for(const host::LocalAddress& sister) {
  const net::IpAddress* own = own_address_for(net::from_octets(sister.address));
  if (own == nullptr) {
    return;
  }
  for (const auto& flow : flows_) {
    const bool here = is_on_this_host(net::octets_of(flow->remote()));
    if (!flow->bound_ && !here && bootstrap::bind_to_interface(flow->socket_.get(), options_.interface)) {
      flow->bound_ = flow->lives_ = true;  // of other sockets this says nothing
    }
  }
  bootstrap::ask_who_has({.ip = net::octets_of(*own), .interface = options_.interface}, sister.address);
}

std::string SocketCarrier::why_away(Instant now) const {
  const auto since = watch_.away_since();
  return since ? engine::describe_absence(name(), *since, now) : std::string();
}

}  // namespace tfabric::socket
