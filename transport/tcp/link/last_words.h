// Why connections were aborted, for peers that have missed it.
//
// The reset of an abort comes after all that was sent. If anything of that was lost on the way, or had not
// left yet, the peer finds the reset out of order and asks whether it is right, by a challenge ACK (RFC 5961
// §3.2), to which a host without the connection answers with a reset that says nothing. So the reason is kept
// for a while, and is in that answer, too. Not thread-safe.
#pragma once

#include <array>
#include <cstddef>
#include <deque>
#include <memory>
#include <string>
#include <string_view>

#include "base/time.h"
#include "transport/tcp/link/tcp_flow.h"
#include "transport/tcp/stack/flow_table.h"

namespace tfabric::link {

class LastWords {
 public:
  // `secret`: random bytes.
  explicit LastWords(std::array<std::byte, 16> secret) : table_(secret) {}

  // The connection was aborted for this reason. Of kMost reasons the oldest is forgotten.
  void note(const FlowKey& key, std::string_view reason, Instant now) {
    forget(key);
    if (words_.size() == kMost) {
      drop_oldest();
    }
    words_.push_back(std::make_unique<Words>(Words{table_key(key), std::string(reason), now + kKept}));
    table_.insert(words_.back()->key, words_.back().get());
  }
  // Returns the reason; empty if none is known.
  [[nodiscard]] std::string_view of(const FlowKey& key, Instant now) {
    while (!words_.empty() && words_.front()->until <= now) {
      drop_oldest();
    }
    const Words* const words = table_.find(table_key(key));
    return words == nullptr ? std::string_view() : std::string_view(words->reason);
  }
  // Another connection has these addresses and ports now.
  void forget(const FlowKey& key) { table_.erase(table_key(key)); }

 private:
  struct Words {
    stack::FlowTableKey key;
    std::string reason;
    Instant until;
  };
  // A peer that hears nothing asks by a keep-alive, after 5 s unless it is set otherwise.
  static constexpr Duration kKept = std::chrono::seconds(30);
  static constexpr std::size_t kMost = 4096;

  void drop_oldest() {
    const Words* const oldest = words_.front().get();
    // It may have been forgotten, and others may have its key.
    if (table_.find(oldest->key) == oldest) {
      table_.erase(oldest->key);
    }
    words_.pop_front();
  }

  std::deque<std::unique_ptr<Words>> words_;  // oldest first
  stack::FlowTable<Words> table_;
};

}  // namespace tfabric::link
