// Which connections of the witness there may be, and which make room for others.
#include <algorithm>
#include <array>
#include <utility>

#include "transport/witness/witness.h"

namespace tfabric::witness {
namespace {

// The most connections that have not shown the token, and for how long they may not have. The same time is
// for those that we dial.
constexpr std::size_t kMaxStrangers = 64;
constexpr Duration kOpeningTimeout = std::chrono::seconds(5);
// The last pause before a peer is dialled again; it doubles from the first.
constexpr Duration kLastPause = std::chrono::seconds(60);
// When there is no room for a peer: until the next one is dialled.
constexpr Duration kFullPause = std::chrono::seconds(1);

}  // namespace

Witness::Place Witness::place_of(Purpose purpose, bool within_host) {
  switch (purpose) {
    case Purpose::stay:
      return Place::peer;
    case Purpose::check:
      return Place::none;
    case Purpose::needed:
      break;
  }
  return within_host ? Place::sibling : Place::host;
}

std::size_t Witness::count(Place place) const {
  return static_cast<std::size_t>(std::count_if(
      links_.begin(), links_.end(), [&](const auto& link) { return link.second.place == place; }));
}

bool Witness::is_to_be_dialled(const Entry& entry) const {
  const std::uint64_t process = entry.peer->process();
  const bool watched = siblings_.contains(process);
  const bool ours = contact_.process < process && entry.peer.use_count() > 1 && clock_ >= full_until_;
  if (!(ours || watched) || !entry.contact.exists() || entry.link != 0 || entry.attempt != 0 ||
      clock_ < entry.next_dial) {
    return false;
  }
  const View own = entry.standing.view(clock_);
  return (own == View::unknown || own == View::lost) && view_of(entry) != View::ended;
}

// Two processes may dial each other at once, or one of them again because it has lost the connection. Returns
// true if this one, which has the lower number, has none of its own.
bool Witness::gives_way(const Entry& entry) const {
  const auto attempt = links_.find(entry.attempt);
  const bool dialling = attempt != links_.end() && attempt->second.purpose != Purpose::check;
  return entry.link == 0 && !dialling;
}

// No comm holds the peer, and no process is known through the connection, at either end.
bool Witness::is_idle(const Entry& entry) const {
  const std::uint64_t process = entry.peer->process();
  return entry.peer.use_count() == 1 && !siblings_.contains(process) && !siblings_.serves(entry.link) &&
         (entry.host == nullptr || !entry.host->is_deputy(process));
}

// Returns false if there is no place for one more connection.
bool Witness::make_room(Place place) {
  if (place == Place::sibling) {
    return count(place) < Siblings::kMaxProcesses;
  }
  const std::size_t most = options_.max_peers + (place == Place::host ? options_.max_hosts : 0);
  if (count(Place::peer) + count(Place::host) < most) {
    return true;
  }
  const auto idle = std::find_if(links_.begin(), links_.end(), [&](const auto& link) {
    const auto entry = peers_.find(link.second.process);
    return link.second.place != Place::sibling && entry != peers_.end() && entry->second.link == link.first &&
           is_idle(entry->second);
  });
  if (idle == links_.end()) {
    full_until_ = clock_ + kFullPause;
    return false;
  }
  Entry& entry = peers_.find(idle->second.process)->second;
  close_link(std::exchange(entry.link, 0));
  entry.standing = {};
  publish(entry);
  return true;
}

// The connection is the one with the peer from now on. There is an older one only if the peer has lost it.
void Witness::attach(Entry& entry, std::uint64_t serial, const Introduction& who) {
  const std::uint64_t older = std::exchange(entry.link, serial);
  if (older != 0) {
    close_link(older);
  }
  entry.who = who;
  entry.pause = kFirstPause;
  entry.standing.connected();
  publish(entry);
}

void Witness::back_off(Entry& entry) {
  entry.next_dial = clock_ + entry.pause;
  entry.pause = std::min<Duration>(2 * entry.pause, kLastPause);
  entry.dial_failure = Finding::unknown;
}

void Witness::close_link(std::uint64_t serial) {
  siblings_.close(serial);
  links_.erase(serial);
  full_until_ = {};
}

void Witness::drop_slow() {
  std::array<std::uint64_t, kMaxStrangers> slow;
  std::size_t count = 0;
  for (const auto& [serial, link] : links_) {
    if (link.stage != Stage::open && clock_ - link.since >= kOpeningTimeout && count < slow.size()) {
      slow[count++] = serial;
    }
  }
  for (std::size_t i = 0; i < count; ++i) {
    drop(slow[i]);
  }
}

// Makes room for one more.
void Witness::limit_strangers() {
  std::size_t strangers = 0;
  std::uint64_t oldest = last_serial_ + 1;
  for (const auto& [serial, link] : links_) {
    if (link.stage == Stage::stranger) {
      ++strangers;
      oldest = std::min(oldest, serial);
    }
  }
  if (strangers >= kMaxStrangers) {
    drop(oldest);
  }
}

}  // namespace tfabric::witness
