#include "transport/session/comm_table.h"

namespace tfabric::session {

bool CommTable::add(const Token& token, std::uint64_t comm, LaneSink& sink) {
  return places_.emplace(Key{token_id(token), comm}, Place{token, &sink}).second;
}

void CommTable::remove(const Key& key, Instant now) {
  places_.at(key).sink = nullptr;
  gone_.emplace_back(now, key);
  if (gone_.size() > kMaxRemembered) {
    places_.erase(gone_.front().second);
    gone_.pop_front();
  }
}

const CommTable::Place* CommTable::find(const Key& key) const {
  const auto found = places_.find(key);
  return found == places_.end() ? nullptr : &found->second;
}

void CommTable::forget(Instant now) {
  while (!gone_.empty() && now - gone_.front().first >= kRemembered) {
    places_.erase(gone_.front().second);
    gone_.pop_front();
  }
}

}  // namespace tfabric::session
