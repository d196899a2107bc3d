// The receive comms of an engine that further lanes may join, and who takes over a lane once it is proved to
// be the connector's (hello.h).
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <tuple>
#include <utility>

#include "base/result.h"
#include "base/time.h"
#include "transport/engine/turn.h"
#include "transport/lane/lane.h"
#include "transport/session/hello.h"

namespace tfabric::session {

// The most lanes that a comm may have at once, whatever a peer asks for.
inline constexpr std::uint16_t kMaxLanes = 256;

// Takes over lanes whose proof has arrived: a listener, or a comm.
class LaneSink {
 public:
  // `hello` has its token. On an error nothing has changed, and the lane stays with the caller.
  virtual Status take_lane(std::unique_ptr<lane::Lane>& lane, const Hello& hello) TF_IN_TURN = 0;
  // Returns true if there is nothing left to join, which the connector is told then.
  [[nodiscard]] virtual bool has_ended() const TF_IN_TURN { return false; }

 protected:
  ~LaneSink() = default;
};

// A comm is found by the id of its listener's token and the connector's number for it. The listener itself
// may be closed by then. A comm that is gone is remembered for a while with its token, so that a connector
// that dials it anew gets an answer that it can believe.
class CommTable {
 public:
  struct Key {
    std::uint64_t id = 0, comm = 0;
    friend bool operator<(const Key& a, const Key& b) {
      return std::tie(a.id, a.comm) < std::tie(b.id, b.comm);
    }
  };
  struct Place {
    Token token{};
    LaneSink* sink = nullptr;  // null: the comm is gone
  };
  // For so long, and so many of them: a connector that has nothing to send notices the end of its lanes by
  // keep-alives only, and then dials at once.
  static constexpr Duration kRemembered = std::chrono::seconds(60);
  static constexpr std::size_t kMaxRemembered = 65536;

  // Returns false if another comm has that key.
  bool add(const Token& token, std::uint64_t comm, LaneSink& sink) TF_IN_TURN;
  // The comm is going.
  void remove(const Key& key, Instant now) TF_IN_TURN;
  // Returns null if no comm has the key, or had it lately.
  [[nodiscard]] const Place* find(const Key& key) const TF_IN_TURN;
  // Forgets those that have been gone for long.
  void forget(Instant now) TF_IN_TURN;

 private:
  std::map<Key, Place> places_;
  std::deque<std::pair<Instant, Key>> gone_;  // in the order of their end
};

}  // namespace tfabric::session
