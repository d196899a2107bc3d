// Receives the connections that peers open: reads each one's hello and gives the flow to the listener
// whose token it carries, or to the comm that it is to join.
//
// Until its hello has come, a half-open connection costs one small object and no payload; their number and
// their time are bounded, the oldest goes first, and none of them delays anybody. Used with the engine held,
// except where said.
#pragma once

#include <atomic>
#include <cstdint>
#include <deque>
#include <list>
#include <map>
#include <memory>
#include <vector>

#include "transport/tcp/comm/context.h"
#include "transport/tcp/comm/recv_comm.h"
#include "transport/tcp/lane/flow_reader.h"
#include "transport/tcp/session/handshake.h"

namespace tfabric::tcp {

// The comms that peers are opening to one listener.
class Pending {
 public:
  explicit Pending(const Context& context) : context_(context) {}

  // A flow with a good hello. False: its numbers contradict the comm's other flows, and the reader stays
  // where it is.
  bool add(engine::Flow& flow, const Hello& hello, std::unique_ptr<lane::FlowReader>& reader);
  // From any thread.
  [[nodiscard]] bool has_ready() const { return ready_count_.load(std::memory_order_acquire) > 0; }
  // A comm all of whose flows are there; null if none is.
  std::unique_ptr<RecvComm> take();
  // Resets all connections of comms that nobody has taken. Destroying them needs the engine released.
  void abandon();

 private:
  // A comm some of whose flows are missing.
  struct Half {
    std::unique_ptr<RecvComm> comm;
    std::uint16_t flows = 0;
  };

  Context context_;
  std::map<std::uint64_t, Half> halves_;
  std::deque<std::unique_ptr<RecvComm>> ready_;
  std::atomic<std::size_t> ready_count_{0};
};

class Acceptor final : public engine::Acceptor {
 public:
  Acceptor(engine::Engine& engine, Peers& peers);
  ~Acceptor();
  Acceptor(const Acceptor&) = delete;
  Acceptor& operator=(const Acceptor&) = delete;

  void add_listener(const Token& token, Pending& pending) { listeners_[token] = &pending; }
  void remove_listener(const Token& token) { listeners_.erase(token); }
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
  Status introduce(HalfOpen& half_open, const Hello& hello);
  void forget(HalfOpen& half_open);

  void evict_oldest();

  engine::Engine* engine_;
  Peers* peers_;
  std::map<Token, Pending*> listeners_;
  HalfOpens half_open_;  // oldest first
  HalfOpens done_;       // ended inside their own callbacks
};

}  // namespace tfabric::tcp
