// Accepts the connections that peers open: reads each one's hello and gives the flow to the listener whose
// token it carries, or to the comm that it is to join.
//
// Until its hello has arrived, a half-open connection costs one small object and no payload memory. The
// number of half-open connections and their time are bounded, and the oldest is dropped first: none of them
// delays another connection. Used with the engine held.
#pragma once

#include <list>
#include <map>
#include <memory>

#include "transport/tcp/engine/engine.h"
#include "transport/tcp/session/handshake.h"

namespace tfabric::tcp {

class Acceptor final : public engine::Acceptor {
 public:
  // `comms`: those that further flows may join.
  explicit Acceptor(const CommTable& comms);
  ~Acceptor();
  Acceptor(const Acceptor&) = delete;
  Acceptor& operator=(const Acceptor&) = delete;

  // `listener` takes the flows whose hello has this token.
  void add_listener(const Token& token, FlowSink& listener) { listeners_[token] = &listener; }
  void remove_listener(const Token& token) { listeners_.erase(token); }
  // What the welcomes say of this process.
  void set_witness(const witness::Contact& contact) { witness_ = contact; }
  // Drops all half-open connections.
  void clear();

  bool on_connection(engine::Flow& flow) override;
  void on_time(Instant now) override;
  [[nodiscard]] std::size_t half_open() const { return half_open_.size(); }

 private:
  class HalfOpen;
  friend class HalfOpen;
  using HalfOpens = std::list<std::unique_ptr<HalfOpen>>;

  Status greet(HalfOpen& half_open, const Hello& hello);
  Result<WelcomeStatus> introduce(HalfOpen& half_open, const Hello& hello);
  void forget(HalfOpen& half_open);
  void evict_oldest();

  const CommTable* comms_;
  witness::Contact witness_;
  std::map<Token, FlowSink*> listeners_;
  HalfOpens half_open_;  // oldest first
  HalfOpens done_;       // ended inside their own callbacks, and destroyed after them
};

}  // namespace tfabric::tcp
