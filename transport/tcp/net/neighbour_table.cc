#include "transport/tcp/net/neighbour_table.h"

#include <algorithm>
#include <utility>

namespace tfabric::net {
namespace {

// RFC 4861 §10: REACHABLE_TIME, RETRANS_TIMER, MAX_UNICAST_SOLICIT. RFC 1122 §2.3.2.1 allows as many ARP
// requests.
constexpr Duration kReachable = std::chrono::seconds(30);
constexpr Duration kRetry = std::chrono::seconds(1);
constexpr int kMaxRequests = 3;
// A neighbour that does not answer is no longer asked when it was not looked up for this long.
constexpr Duration kWanted = kMaxRequests * kRetry;

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
  entry->used = now;
  const bool request = fresh || entry->state == State::stale;
  if (request) {
    entry->state = fresh ? State::incomplete : State::probing;
    ask(*entry, now);
  }
  if (entry->state == State::incomplete) {
    return {.kind = Lookup::Kind::pending, .mac = {}, .request = request};
  }
  return {.kind = Lookup::Kind::known, .mac = entry->mac, .request = request};
}

bool NeighbourTable::learn(const IpAddress& address, const MacAddress& mac, bool may_create, Instant now) {
  Entry* entry = locate(address);
  bool fresh = false;
  if (entry == nullptr) {
    if (!may_create) {
      return false;
    }
    // It is of no use to us yet: it is replaced first when unknown hosts fill the table, and no header was
    // made for it.
    entry = &create(address, now);
    entry->used = Instant{};
    fresh = true;
  }
  const bool known = !fresh && entry->state != State::incomplete;
  const bool changed = known && entry->mac != mac;
  if ((!known && !fresh) || changed) {
    ++generation_;
  }
  entry->mac = mac;
  entry->state = State::reachable;
  entry->requests = 0;
  entry->next = now + kReachable;
  return changed;
}

bool NeighbourTable::is_silent(const IpAddress& address, Instant now) const {
  const Entry* entry = locate(address);
  return entry != nullptr &&
         (entry->requests > kMaxRequests || (entry->requests == kMaxRequests && entry->next <= now));
}

void NeighbourTable::grow_stale(Entry& entry) {
  entry.state = State::stale;
  if (entry.used != Instant{}) {
    ++generation_;  // users of a header for it prepare a new one before the next packet
  }
}

void NeighbourTable::ask(Entry& entry, Instant now) {
  ++entry.requests;
  entry.next = now + kRetry;
}

std::optional<IpAddress> NeighbourTable::due(Instant now) {
  for (std::size_t i = 0; i < entries_.size();) {
    Entry& entry = entries_[i];
    const bool unwanted = entry.requests >= kMaxRequests && now - entry.used >= kWanted;
    if (entry.next > now || entry.state == State::stale) {
      ++i;
    } else if (entry.state == State::incomplete && unwanted) {
      entry = entries_.back();
      entries_.pop_back();
    } else if (entry.state == State::reachable ? now - entry.used >= kReachable : unwanted) {
      grow_stale(entry);
      ++i;
    } else {
      if (entry.state == State::reachable) {
        entry.state = State::probing;
      }
      ask(entry, now);
      return entry.address;
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
