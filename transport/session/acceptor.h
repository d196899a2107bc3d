// Accepts the connections that peers open: reads each one's hello, welcomes it, and gives the lane to the
// listener whose token it names, or to the comm that it is to join, once the proof has come (hello.h).
//
// Until then, a half-open connection costs one small object and no payload memory. The number of half-open
// connections and their time are bounded, and the oldest is dropped first: none of them delays another
// connection.
#pragma once

#include <list>
#include <map>
#include <memory>
#include <optional>
#include <span>

#include "transport/engine/engine.h"
#include "transport/engine/turn.h"
#include "transport/session/comm_table.h"
#include "transport/session/hello.h"

namespace tfabric::session {

class Acceptor final : public engine::Acceptor {
 public:
  // `comms`: those that further lanes may join.
  explicit Acceptor(CommTable& comms);
  ~Acceptor();
  Acceptor(const Acceptor&) = delete;
  Acceptor& operator=(const Acceptor&) = delete;

  // `listener` takes the lanes that prove to have this token.
  void add_listener(const Token& token, LaneSink& listener) TF_IN_TURN {
    listeners_[token_id(token)] = {token, &listener};
  }
  void remove_listener(const Token& token) TF_IN_TURN { listeners_.erase(token_id(token)); }
  // What the welcomes say of this process.
  void set_witness(const witness::Contact& contact) TF_IN_TURN { witness_ = contact; }
  // Drops all half-open connections.
  void clear() TF_IN_TURN;

  bool on_connection(engine::Flow& flow) override TF_IN_TURN;
  bool on_lane(std::unique_ptr<lane::Lane> lane) override TF_IN_TURN;
  void on_time(Instant now) override TF_IN_TURN;
  [[nodiscard]] std::size_t half_open() const TF_IN_TURN { return half_open_.size(); }

 private:
  class HalfOpen;
  friend class HalfOpen;
  using HalfOpens = std::list<std::unique_ptr<HalfOpen>>;

  using Place = CommTable::Place;

  Status greet(HalfOpen& half_open, std::span<const std::byte> body) TF_IN_TURN;
  Status admit(HalfOpen& half_open) TF_IN_TURN;
  [[nodiscard]] std::optional<Place> place_of(const Hello& hello) const TF_IN_TURN;
  void forget(HalfOpen& half_open);
  void evict_oldest() TF_IN_TURN;

  CommTable* comms_;
  witness::Contact witness_;
  std::map<std::uint64_t, Place> listeners_;  // by the id of their token
  HalfOpens half_open_;                       // oldest first
  HalfOpens done_;                            // ended inside their own callbacks, and destroyed after them
};

}  // namespace tfabric::session
