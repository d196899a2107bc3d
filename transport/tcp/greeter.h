// Receives the connections that peers open: reads each one's hello and gives the flow to the listener
// whose token it carries, or to the comm that it is to join.
//
// Until its hello has come, a stranger costs one small object and no payload; their number and their time
// are bounded, the oldest goes first, and none of them delays anybody. Used with the engine held, except
// where said.
#pragma once

#include <atomic>
#include <cstdint>
#include <deque>
#include <list>
#include <map>
#include <memory>
#include <vector>

#include "transport/tcp/context.h"
#include "transport/tcp/handshake.h"
#include "transport/tcp/message/flow_reader.h"
#include "transport/tcp/recv_comm.h"

namespace tfabric::tcp {

// The comms that peers are opening to one listener.
class Pending {
 public:
  explicit Pending(const Context& context) : context_(context) {}

  // A flow with a good hello. False: its numbers contradict the comm's other flows, and the reader stays
  // where it is.
  bool add(engine::Flow& flow, const Hello& hello, std::unique_ptr<message::FlowReader>& reader);
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

class Greeter final : public engine::Acceptor {
 public:
  Greeter(engine::Engine& engine, Peers& peers);
  ~Greeter();
  Greeter(const Greeter&) = delete;
  Greeter& operator=(const Greeter&) = delete;

  void add_listener(const Token& token, Pending& pending) { listeners_[token] = &pending; }
  void remove_listener(const Token& token) { listeners_.erase(token); }
  // Drops all strangers.
  void clear();

  bool on_connection(engine::Flow& flow) override;
  void on_time(Instant now) override;
  [[nodiscard]] std::size_t strangers() const { return strangers_.size(); }

 private:
  class Stranger;
  friend class Stranger;
  using Strangers = std::list<std::unique_ptr<Stranger>>;

  Status greet(Stranger& stranger, const Hello& hello);
  Status introduce(Stranger& stranger, const Hello& hello);
  void forget(Stranger& stranger);

  void evict_oldest();

  engine::Engine* engine_;
  Peers* peers_;
  std::map<Token, Pending*> listeners_;
  Strangers strangers_;  // oldest first
  Strangers done_;       // ended inside their own callbacks
};

}  // namespace tfabric::tcp
