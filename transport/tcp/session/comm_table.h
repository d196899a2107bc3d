// The receive comms of an engine that further flows may join, by the token of their listener and their
// number.
//
// The listener itself may be closed by then. Used with the engine held.
#pragma once

#include <cstdint>
#include <map>
#include <utility>

#include "transport/tcp/session/handle.h"

namespace tfabric::tcp {

class RecvComm;

class CommTable {
 public:
  using Key = std::pair<Token, std::uint64_t>;

  // False: another comm has that key.
  bool add(const Key& key, RecvComm& comm) { return comms_.emplace(key, &comm).second; }
  void remove(const Key& key) { comms_.erase(key); }
  // Null: none has it.
  [[nodiscard]] RecvComm* find(const Key& key) const {
    const auto found = comms_.find(key);
    return found == comms_.end() ? nullptr : found->second;
  }

 private:
  std::map<Key, RecvComm*> comms_;
};

}  // namespace tfabric::tcp
