#include "transport/tcp/net/neighbour_table.h"

#include <algorithm>
#include <utility>

namespace tfabric::net {
namespace {

// RFC 4861 §10: REACHABLE_TIME, RETRANS_TIMER, MAX_MULTICAST_SOLICIT. RFC 1122 §2.3.2.1 allows as many ARP
// requests.
constexpr Duration kReachable = std::chrono::seconds(30);
constexpr Duration kRetry = std::chrono::seconds(1);
constexpr int kMaxRequests = 3;
// RFC 4861 §10: DELAY_FIRST_PROBE_TIME.
constexpr Duration kDelay = std::chrono::seconds(5);
// RFC 1122 §2.3.2.1 (2), where it is "typically" 2; RFC 4861 §10 allows one more.
constexpr int kPolls = 2;
// If another MAC address claims to be the neighbour's: a host that took it over has announced itself, and
// connections to it stand still until it is believed.
constexpr int kPollsOfClaim = 1;
// A neighbour that does not answer is no longer asked when it was not looked up for this long.
constexpr Duration kWanted = kMaxRequests * kRetry;
// Progress proves that the neighbour is reachable if it is no older than this, and younger than a doubt by
// this much: acknowledgements of what left before the neighbour changed arrive for a round trip.
constexpr Duration kRecent = std::chrono::milliseconds(500);

}  // namespace

const NeighbourTable::Entry* NeighbourTable::locate(const IpAddress& address) const {
  const auto found =
      std::find_if(entries_.begin(), entries_.end(), [&](const Entry& e) { return e.address == address; });
  return found == entries_.end() ? nullptr : &*found;
}

NeighbourTable::Entry* NeighbourTable::locate(const IpAddress& address) {
  return const_cast<Entry*>(std::as_const(*this).locate(address));
}

NeighbourTable::Entry& NeighbourTable::create(const IpAddress& address, Instant now) {
  if (entries_.size() == kMaxNeighbours) {
    const auto oldest = std::min_element(entries_.begin(), entries_.end(),
                                         [](const Entry& a, const Entry& b) { return a.used < b.used; });
    if (oldest->used != Instant{}) {
      ++generation_;  // without the entry, headers made for it would not follow a change of its MAC address
    }
    *oldest = Entry{.address = address, .used = now};
    return *oldest;
  }
  return entries_.emplace_back(Entry{.address = address, .used = now});
}

NeighbourTable::Lookup NeighbourTable::find(const IpAddress& address, Instant now) {
  Entry* entry = locate(address);
  const bool fresh = entry == nullptr;
  if (fresh) {
    entry = &create(address, now);
  }
  bool asks = fresh;
  if (entry->state == State::stale) {
    entry->state = State::probing;
    // A neighbour that has just asked for us is most likely about to connect: progress will confirm it.
    entry->next = entry->used == Instant{} ? now + kDelay : earliest_request(*entry, now);
    asks = entry->next <= now;
  }
  entry->used = now;
  Lookup found;
  if (asks) {
    found.request = ask(*entry, now);
  }
  if (entry->state != State::incomplete) {
    found.kind = Lookup::Kind::known;
    found.mac = entry->mac;
  }
  return found;
}

bool NeighbourTable::answer(const IpAddress& address, const MacAddress& mac, Instant now) {
  Entry* entry = locate(address);
  if (entry == nullptr) {
    return false;
  }
  const bool known = entry->state != State::incomplete;
  const bool same = known && entry->mac == mac;
  if (entry->asked == Asked::none || (entry->asked == Asked::holder && !same)) {
    return learn(address, mac, /*create=*/false, now);  // no answer to what we have asked
  }
  if (!same) {
    take(*entry, mac);
  }
  confirm(*entry, now);
  return known && !same;
}

bool NeighbourTable::learn(const IpAddress& address, const MacAddress& mac, bool may_create, Instant now) {
  Entry* entry = locate(address);
  if (entry == nullptr) {
    if (may_create) {
      // It is of no use to us yet: it is replaced first when unknown hosts fill the table, and no header was
      // made for it.
      entry = &create(address, now);
      entry->used = Instant{};
      entry->mac = mac;
      entry->polls = kPolls;
      entry->state = State::stale;
    }
    return false;
  }
  if (entry->state == State::incomplete) {
    take(*entry, mac);
    return false;
  }
  if (entry->mac == mac) {
    // It lives, but whether our packets reach it is another question (RFC 4861 §7.3.1).
    entry->requests = 0;
    return false;
  }
  return claim(*entry, mac, now);
}

void NeighbourTable::doubt(const IpAddress& address, Instant now) {
  Entry* entry = locate(address);
  if (entry == nullptr || entry->state == State::incomplete) {
    return;
  }
  entry->used = now;
  doubt(*entry, now);
}

// An unsolicited message says that the neighbour, whose MAC address is known, has another one.
bool NeighbourTable::claim(Entry& entry, const MacAddress& mac, Instant now) {
  // RFC 4861 §7.2.5 would believe it. Nothing is at stake if we never had a use for the neighbour, and if all
  // have been asked and were silent, nothing is left to verify.
  const bool unverifiable = entry.asked == Asked::everybody && is_silent(entry, now);
  if (entry.used == Instant{} || unverifiable) {
    take(entry, mac);
    return true;
  }
  entry.polls = std::min(entry.polls, kPollsOfClaim);
  if (entry.state != State::stale) {
    doubt(entry, now);
  }
  return false;
}

void NeighbourTable::doubt(Entry& entry, Instant now) {
  if (entry.doubted == Instant{}) {
    entry.doubted = now;
  }
  entry.state = State::probing;
  entry.next = earliest_request(entry, now);
}

// RFC 1122 §2.3.2.1: one request a second at most, however often the neighbour is doubted.
Instant NeighbourTable::earliest_request(const Entry& entry, Instant now) {
  return std::max(now, entry.asked_at + kRetry);
}

// The neighbour has this MAC address, as far as is known; it has not answered yet.
void NeighbourTable::take(Entry& entry, const MacAddress& mac) {
  ++generation_;
  entry.mac = mac;
  entry.state = State::stale;
  entry.requests = 0;
  entry.polls = kPolls;
  entry.doubted = Instant{};
}

void NeighbourTable::confirm(Entry& entry, Instant now) {
  entry.state = State::reachable;
  entry.asked = Asked::none;
  entry.requests = 0;
  entry.polls = kPolls;
  entry.doubted = Instant{};
  entry.next = now + kReachable;
}

bool NeighbourTable::is_confirmed(const Entry& entry, const UpperLayer* upper, Instant now) {
  return upper != nullptr && entry.state != State::incomplete &&
         upper->has_progress(entry.address, std::max(now - kRecent, entry.doubted + kRecent));
}

bool NeighbourTable::is_silent(const Entry& entry, Instant now) {
  return entry.requests > kMaxRequests || (entry.requests == kMaxRequests && entry.next <= now);
}

bool NeighbourTable::is_silent(const IpAddress& address, Instant now) const {
  const Entry* entry = locate(address);
  return entry != nullptr && is_silent(*entry, now);
}

void NeighbourTable::grow_stale(Entry& entry) {
  entry.state = State::stale;
  if (entry.used != Instant{}) {
    ++generation_;  // users of a header for it prepare a new one before the next packet
  }
}

NeighbourTable::Request NeighbourTable::ask(Entry& entry, Instant now) {
  ++entry.requests;
  entry.asked_at = now;
  entry.next = now + kRetry;
  Request request{.address = entry.address, .holder = std::nullopt};
  if (entry.state != State::incomplete && entry.polls > 0) {
    --entry.polls;
    entry.asked = std::max(entry.asked, Asked::holder);
    request.holder = entry.mac;
  } else {
    entry.asked = Asked::everybody;
  }
  return request;
}

std::optional<NeighbourTable::Request> NeighbourTable::due(Instant now, const UpperLayer* upper) {
  for (std::size_t i = 0; i < entries_.size();) {
    Entry& entry = entries_[i];
    const bool unwanted = entry.requests >= kMaxRequests && now - entry.used >= kWanted;
    if (entry.next > now || entry.state == State::stale) {
      ++i;
    } else if (entry.state == State::incomplete && unwanted) {
      entry = entries_.back();
      entries_.pop_back();
    } else if (is_confirmed(entry, upper, now)) {
      confirm(entry, now);
      ++i;
    } else if (entry.state == State::reachable ? now - entry.used >= kReachable : unwanted) {
      grow_stale(entry);
      ++i;
    } else {
      if (entry.state == State::reachable) {
        entry.state = State::probing;
      }
      return ask(entry, now);
    }
  }
  return std::nullopt;
}

Instant NeighbourTable::next_deadline() const {
  Instant next = kNever;
  for (const Entry& entry : entries_) {
    if (entry.state != State::stale) {
      next = std::min(next, entry.next);
    }
  }
  return next;
}

}  // namespace tfabric::net
