// Which connections of the witness there may be, and which make room for others.
#include <algorithm>
#include <array>
#include <utility>

#include "base/log.h"
#include "transport/witness/witness.h"

namespace tfabric::witness {
namespace {

// The most connections that have not proved to be a peer's, and for how long they may not have. The same time
// is for those that we dial.
constexpr std::size_t kMaxStrangers = 64;
constexpr Duration kOpeningTimeout = std::chrono::seconds(5);
// The last pause before a peer is dialled again; it doubles from the first.
constexpr Duration kLastPause = std::chrono::seconds(60);
// When there is no room for a peer: until the next one is dialled.
constexpr Duration kFullPause = std::chrono::seconds(1);

}  // namespace

bool Witness::is_to_be_dialled(const Entry& entry) const {
  const bool ours = contact_.process < entry.peer->process() && entry.peer.use_count() > 1;
  if (!ours || !entry.contact.exists() || entry.connection != 0 || entry.attempt != 0 ||
      clock_ < std::max(entry.next_dial, full_until_)) {
    return false;
  }
  const View view = entry.standing.view(clock_);
  return view == View::unknown || view == View::lost;
}

// Returns false if there is no place for one more connection.
bool Witness::make_room() {
  const auto taken = static_cast<std::size_t>(
      std::count_if(connections_.begin(), connections_.end(), [](const auto& connection) {
        return connection.second.process != 0 && connection.second.purpose == Purpose::stay;
      }));
  if (taken < options_.max_peers) {
    return true;
  }
  const auto idle = std::find_if(connections_.begin(), connections_.end(), [&](const auto& connection) {
    const auto entry = peers_.find(connection.second.process);
    return entry != peers_.end() && entry->second.connection == connection.first &&
           entry->second.peer.use_count() == 1;
  });
  if (idle == connections_.end()) {
    full_until_ = clock_ + kFullPause;
    if (!std::exchange(said_full_, true)) {
      TF_INFO(
          "NET/tfabric: the witness (tcp.witness) watches {} processes, the most that it may ({}, or a "
          "quarter of \"ulimit -n\"). That one of the others has ended is noticed by time-outs "
          "(tcp.user_timeout_ms)",
          options_.max_peers, kMaxPeers);
    }
    return false;
  }
  Entry& entry = peers_.find(idle->second.process)->second;
  close_connection(std::exchange(entry.connection, 0));
  entry.standing = {};
  publish(entry);
  return true;
}

// The connection is the one with the peer from now on. There is an older one only if the peer has lost it.
void Witness::attach(Entry& entry, std::uint64_t serial, const Greeting& greeting,
                     const verdict::Process& who) {
  const std::uint64_t older = std::exchange(entry.connection, serial);
  if (older != 0) {
    close_connection(older);
  }
  entry.who = who;
  const auto key = std::find(entry.keys.begin(), entry.keys.end(), greeting.key);
  if (key != entry.keys.end()) {
    std::rotate(key, key + 1, entry.keys.end());
    entry.key_used = true;
    entry.openings = 0;
  }
  entry.pause = kFirstPause;
  entry.standing.connected();
  if (std::exchange(entry.said_lost, false)) {
    TF_INFO("NET/tfabric: the connection of the witness to {} could be made again", to_string(who));
  }
  publish(entry);
}

void Witness::back_off(Entry& entry) {
  entry.next_dial = clock_ + entry.pause;
  entry.pause = std::min<Duration>(2 * entry.pause, kLastPause);
}

void Witness::close_connection(std::uint64_t serial) {
  connections_.erase(serial);
  full_until_ = {};
}

void Witness::drop_slow() {
  std::array<std::uint64_t, kMaxStrangers> slow;
  std::size_t count = 0;
  for (const auto& [serial, connection] : connections_) {
    // A process that is stopped takes its time to answer a check.
    const bool may_wait = connection.purpose == Purpose::check && connection.stage == Stage::greeting;
    const bool slow_now = connection.stage != Stage::open && clock_ - connection.since >= kOpeningTimeout;
    if (slow_now && !may_wait && count < slow.size()) {
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
  for (const auto& [serial, connection] : connections_) {
    if (connection.stage == Stage::stranger || connection.stage == Stage::proving) {
      ++strangers;
      oldest = std::min(oldest, serial);
    }
  }
  if (strangers >= kMaxStrangers) {
    drop(oldest);
  }
}

}  // namespace tfabric::witness
