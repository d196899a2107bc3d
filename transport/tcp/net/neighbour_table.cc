#include "transport/tcp/net/neighbour_table.h"

#include <algorithm>

namespace tfabric::net {
namespace {

// RFC 4861 §10: REACHABLE_TIME, RETRANS_TIMER, MAX_UNICAST_SOLICIT.
constexpr Duration kReachable = std::chrono::seconds(30);
constexpr Duration kRetry = std::chrono::seconds(1);
constexpr int kMaxRequests = 3;
// A neighbour that did not answer is not asked again before this.
constexpr Duration kFailed = std::chrono::seconds(5);

}  // namespace

NeighbourTable::Entry* NeighbourTable::locate(const IpAddress& address) {
  const auto found =
      std::find_if(entries_.begin(), entries_.end(), [&](const Entry& e) { return e.address == address; });
  return found == entries_.end() ? nullptr : &*found;
}

NeighbourTable::Entry& NeighbourTable::create(const IpAddress& address, Instant now) {
  if (entries_.size() == kMaxNeighbours) {
    const auto oldest = std::min_element(entries_.begin(), entries_.end(),
                                         [](const Entry& a, const Entry& b) { return a.used < b.used; });
    if (oldest->used != Instant{}) {
      ++generation_;  // nobody would tell a header made for it that the neighbour has moved
    }
    *oldest = Entry{.address = address, .used = now};
    return *oldest;
  }
  return entries_.emplace_back(Entry{.address = address, .used = now});
}

NeighbourTable::Lookup NeighbourTable::find(const IpAddress& address, Instant now) {
  Entry* entry = locate(address);
  if (entry == nullptr || (entry->state == State::failed && entry->next <= now)) {
    if (entry == nullptr) {
      entry = &create(address, now);
    }
    entry->state = State::incomplete;
    entry->requests = 1;
    entry->next = now + kRetry;
    entry->used = now;
    return {.kind = Lookup::Kind::pending, .mac = {}, .request = true};
  }
  entry->used = now;
  switch (entry->state) {
    case State::incomplete:
      return {.kind = Lookup::Kind::pending, .mac = {}};
    case State::failed:
      return {.kind = Lookup::Kind::unreachable, .mac = {}};
    case State::reachable:
    case State::probing:
      break;
  }
  return {.kind = Lookup::Kind::known, .mac = entry->mac};
}

bool NeighbourTable::learn(const IpAddress& address, const MacAddress& mac, bool may_create, Instant now) {
  Entry* entry = locate(address);
  bool fresh = false;
  if (entry == nullptr) {
    if (!may_create) {
      return false;
    }
    // Of no use to us yet: first to go when strangers fill the table, and no header was made for it.
    entry = &create(address, now);
    entry->used = Instant{};
    fresh = true;
  }
  const bool known = entry->state == State::reachable || entry->state == State::probing;
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

void NeighbourTable::confirm(const IpAddress& address, Instant now) {
  if (Entry* entry = locate(address);
      entry != nullptr && entry->state != State::incomplete && entry->state != State::failed) {
    entry->state = State::reachable;
    entry->requests = 0;
    entry->next = now + kReachable;
    entry->used = now;  // a header is kept and used again without another find()
  }
}

void NeighbourTable::give_up(Entry& entry, Instant now) {
  entry.state = State::failed;
  entry.next = now + kFailed;
  ++generation_;
}

std::optional<IpAddress> NeighbourTable::due(Instant now) {
  for (Entry& entry : entries_) {
    if (entry.next > now || entry.state == State::failed) {
      continue;
    }
    if (entry.state == State::reachable) {
      // Unused ones may go stale quietly; one in use is asked while it goes on being used.
      if (now - entry.used > kReachable) {
        entry.next = now + kReachable;
        continue;
      }
      entry.state = State::probing;
    } else if (entry.requests >= kMaxRequests) {
      give_up(entry, now);
      continue;
    }
    ++entry.requests;
    entry.next = now + kRetry;
    return entry.address;
  }
  return std::nullopt;
}

Instant NeighbourTable::next_deadline() const {
  Instant next = kNever;
  for (const Entry& entry : entries_) {
    if (entry.state != State::failed) {
      next = std::min(next, entry.next);
    }
  }
  return next;
}

}  // namespace tfabric::net
