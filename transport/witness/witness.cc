#include "transport/witness/witness.h"

#include <fmt/format.h>
#include <sys/epoll.h>
#include <sys/resource.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <system_error>
#include <utility>

#include "base/log.h"
#include "base/random.h"
#include "transport/bootstrap/socket.h"

namespace tfabric::witness {
namespace {

// The most that the clock goes on from one poll to the next: more is time in which this process did not run.
// On a host with more threads than CPUs, some ten milliseconds between two polls are usual.
constexpr Duration kMostBetweenPolls = std::chrono::milliseconds(50);
// The intervals for events of sockets, each a system call, and for everything else.
constexpr Duration kLook = std::chrono::milliseconds(2), kTick = std::chrono::milliseconds(10);
// The most peers that are looked at in an interval, in 0.1 to 0.2 ms.
constexpr std::size_t kMaxPeersATick = 512;

std::size_t quarter_of_descriptors() {
  rlimit limit{};
  const bool known = getrlimit(RLIMIT_NOFILE, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY;
  return known ? static_cast<std::size_t>(limit.rlim_cur / 4) : kMaxPeers;
}

}  // namespace

Result<std::unique_ptr<Witness>> Witness::open(const Options& options) {
  Result<bootstrap::ListeningSocket> listening = bootstrap::listen_tcp(std::span(&options.address, 1));
  if (!listening) {
    return listening.error();
  }
  PrivateDescriptor epoll(Descriptor(epoll_create1(EPOLL_CLOEXEC)));
  epoll_event event{.events = EPOLLIN, .data = {.u64 = 0}};
  if (epoll.get() < 0 || epoll_ctl(epoll.get(), EPOLL_CTL_ADD, listening->socket.get(), &event) != 0) {
    return Error{Errc::system, fmt::format("epoll: {}", std::generic_category().message(errno))};
  }
  Contact contact{.process = random_u64(), .address = options.address, .port = listening->port};
  contact.process += contact.process == 0 ? 1 : 0;  // 0 means no witness
  Options bounded = options;
  bounded.max_peers = std::min(options.max_peers, quarter_of_descriptors());
  return std::unique_ptr<Witness>(
      new Witness(bounded, std::move(epoll), std::move(listening->socket), contact));
}

Witness::Witness(const Options& options, PrivateDescriptor epoll, PrivateDescriptor listening,
                 const Contact& contact)
    : options_(options), epoll_(std::move(epoll)), listening_(std::move(listening)), contact_(contact) {}

std::shared_ptr<Peer> Witness::meet(const Contact& peer) {
  if (!peer.exists() || peer.process == contact_.process) {
    return nullptr;
  }
  const std::lock_guard guard(mutex_);
  Entry& entry = entry_of(peer.process);
  if (!entry.contact.exists()) {
    entry.contact = peer;
  }
  // The two ends may make their comms' acquaintance in another order, so any key of a comm serves.
  constexpr std::size_t kMaxKeys = 1024;
  if (std::find(entry.keys.begin(), entry.keys.end(), peer.token) == entry.keys.end()) {
    if (entry.keys.size() == kMaxKeys) {
      entry.keys.erase(entry.keys.begin());
    }
    entry.keys.insert(entry.keys.end() - (entry.key_used ? 1 : 0), peer.token);
  }
  return entry.peer;
}

void Witness::want(const Peer& peer) {
  const std::lock_guard guard(mutex_);
  const auto found = peers_.find(peer.process());
  if (found == peers_.end()) {
    return;
  }
  Entry& entry = found->second;
  entry.standing.want(clock_);
  publish(entry);
}

verdict::Process Witness::introduction(const Peer& peer) const {
  const std::lock_guard guard(mutex_);
  const auto found = peers_.find(peer.process());
  return found == peers_.end() ? verdict::Process{} : found->second.who;
}

std::string Witness::describe(const Peer& peer) const {
  const verdict::Process who = introduction(peer);
  return who.pid == 0 ? std::string() : to_string(who);
}

Witness::Hearing Witness::hearing(const Peer& peer) const {
  constexpr Duration kValid = std::chrono::seconds(2);
  const std::lock_guard guard(mutex_);
  Hearing hearing;
  const auto found = peers_.find(peer.process());
  if (found == peers_.end()) {
    return hearing;
  }
  if (const Instant heard = peer.heard_at(); heard != Instant{}) {
    hearing.here = last_poll_ - heard;
  }
  const Entry& entry = found->second;
  if (entry.heard_there != Instant{} && last_poll_ - entry.said_at < kValid) {
    hearing.there = last_poll_ - entry.heard_there;
  }
  return hearing;
}

std::size_t Witness::connections() const {
  const std::lock_guard guard(mutex_);
  return connections_.size();
}

void Witness::poll(Instant now) {
  const std::unique_lock guard(mutex_, std::try_to_lock);
  if (!guard) {
    return;  // another engine does it
  }
  clock_ += std::clamp<Duration>(now - last_poll_, Duration::zero(), kMostBetweenPolls);
  last_poll_ = now;
  if (clock_ >= next_look_) {
    next_look_ = clock_ + kLook;
    take_events();
  }
  if (clock_ >= next_tick_) {
    next_tick_ = clock_ + kTick;
    tick();
  }
}

Witness::Entry& Witness::entry_of(std::uint64_t process) {
  Entry& entry = peers_[process];
  if (entry.peer == nullptr) {
    entry.peer = std::make_shared<Peer>(process);
  }
  return entry;
}

void Witness::tick() {
  drop_slow();
  look_at_peers();
}

void Witness::look_at_peers() {
  auto i = peers_.upper_bound(last_peer_);
  for (std::size_t left = std::min(peers_.size(), kMaxPeersATick); left > 0; --left) {
    i = i == peers_.end() ? peers_.begin() : i;
    Entry& entry = i->second;
    last_peer_ = i->first;
    if (is_to_be_dialled(entry)) {
      dial(entry, Purpose::stay);
    }
    ask(entry);
    look_at_lanes(entry);
    publish(entry);
    const bool unused = entry.peer.use_count() == 1 && entry.connection == 0 && entry.attempt == 0;
    if (unused) {
      end_doubt(entry);
    }
    i = unused ? peers_.erase(i) : std::next(i);
  }
}

void Witness::ask(Entry& entry) {
  const auto connection = connections_.find(entry.connection);
  if (connection == connections_.end()) {
    return;
  }
  if (const auto nonce = entry.standing.next_question(clock_)) {
    // If the kernel has no room for it, the process has not read for long, and will not answer.
    static_cast<void>(
        connection->second.channel.send(encode(Record{.kind = RecordKind::ask, .value = *nonce})));
  }
  if (entry.standing.has_open_question() && connection->second.channel.all_acknowledged()) {
    entry.standing.acknowledged();
  }
}

}  // namespace tfabric::witness
