// The poll loop: packets from the links to the TCP machines, and the machines' segments to the links.
//
// A process has one engine or several, each with links and flows of its own. An engine is only used with its
// lock held; NCCL's threads leave their requests in a lock-free list (submit()). A turn is
//   submissions -> receive bursts -> timers -> handlers' progress -> output -> transmit bursts,
// so that a burst of segments is answered by one ACK for each flow.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "base/time.h"
#include "transport/tcp/engine/access.h"
#include "transport/tcp/engine/deadlines.h"
#include "transport/tcp/engine/known_flows.h"
#include "transport/tcp/engine/last_words.h"
#include "transport/tcp/engine/link.h"
#include "transport/tcp/engine/payload_store.h"
#include "transport/tcp/engine/reply_budget.h"
#include "transport/tcp/engine/tcp_flow.h"
#include "transport/tcp/stack/connection.h"
#include "transport/tcp/stack/flow_table.h"
#include "transport/tcp/stack/port_selector.h"
#include "transport/tcp/stack/syn_cookie.h"

namespace tfabric::engine {

// Accepts the connections that peers open to the engine's port.
class Acceptor {
 public:
  // Called with the engine held, before the SYN is answered; while many handshakes are open, only when the
  // last segment of the handshake has arrived. Sets the flow's handler; returns false to refuse the
  // connection.
  virtual bool on_connection(Flow& flow) = 0;
  // Called with the engine held, about once a millisecond.
  virtual void on_time(Instant /*now*/) {}

 protected:
  ~Acceptor() = default;
};

// Someone with work to do at times when no segment arrives.
class Tended {
 public:
  // Called with the engine held, about once a millisecond.
  virtual void on_time(Instant now) = 0;

 protected:
  ~Tended() = default;
};

// Looks at what the engine does, for readers outside of the process.
class Observer {
 public:
  // Called with the engine held, about once a millisecond, after all else.
  virtual void on_time(Instant now) = 0;
  // The flow, or the link, has done all that it will ever do.
  virtual void on_flow_gone(Flow& flow) = 0;
  virtual void on_link_gone(const Link& link) = 0;

 protected:
  ~Observer() = default;
};

struct EngineOptions {
  stack::Options tcp;
  std::uint16_t number = 0;  // the engine's number in the process
  std::uint16_t port = 0;    // the listening port; 0: any
  // The local ports of connections that we open (RFC 6335 §6: the dynamic ones).
  std::uint16_t first_port = 49152;
  std::uint16_t ports = 16384;
  // How many engines of the process listen, on the ports [port - number, port - number + listeners).
  std::uint16_t listeners = 1;
  // The most half-open connections that are remembered. While there are as many, SYNs are answered by
  // cookies.
  std::uint32_t max_half_open = 256;
  std::uint32_t max_time_wait = 1024;     // with more, the oldest is dropped
  std::uint32_t max_kept_packets = 2048;  // see PayloadStore
  Instant (*clock)() = monotonic_now;     // the time of the engine, and of what it turns
  // Faults of the process as a whole, which its engines share. Null: there will be none.
  std::shared_ptr<Rehearsal> rehearsal;
};

struct EngineCounters {
  std::uint64_t turns = 0, segments = 0, no_flow = 0, output_lost = 0;
  std::uint64_t cookies_sent = 0, cookies_taken = 0, cookies_refused = 0;
  std::uint64_t time_wait_reused = 0, time_wait_dropped = 0;
  std::uint64_t ports_tried = 0;  // local ports of a connection after its first
  ExchangeCounters exchange;
};

class Engine {
 public:
  explicit Engine(const EngineOptions& options);
  ~Engine();
  Engine(const Engine&) = delete;
  Engine& operator=(const Engine&) = delete;

  [[nodiscard]] EngineLock& lock() { return lock_; }
  [[nodiscard]] std::uint16_t port() const { return options_.port; }
  [[nodiscard]] const stack::Options& tcp_options() const { return options_.tcp; }
  void set_acceptor(Acceptor* acceptor) { acceptor_ = acceptor; }
  // Null: none. With the lock held.
  void set_observer(Observer* observer) { observer_ = observer; }
  // Null: no fault of the process as a whole.
  [[nodiscard]] Rehearsal* rehearsal() const { return options_.rehearsal.get(); }
  // Where the rings of Flow::set_recorder() are, which outlive the flows.
  void set_recorder_page(const observe::RingPage& page) { recorder_page_ = page; }
  [[nodiscard]] Observer* observer() const { return observer_; }

  // --- from any thread
  // Takes one turn, unless another thread holds the lock. Returns true if anything was done.
  bool progress();
  // `submitter` has left work: on_submitted() is called in this turn or the next. The object must not be
  // destroyed before take_submissions().
  void submit(Submitter& submitter) { submissions_.submit(submitter); }
  [[nodiscard]] Instant now() const { return options_.clock(); }
  // The time of the last turn.
  [[nodiscard]] Instant last_turn() const {
    return Instant(Duration(last_turn_.load(std::memory_order_relaxed)));
  }

  // How long, in all, no thread turned the engine for half a second or longer: the process was stopped, or
  // got no CPU. Limits on a peer's silence do not count this time.
  [[nodiscard]] Duration paused() const { return Duration(paused_.load(std::memory_order_relaxed)); }

  // --- with the lock held
  // Takes one turn. Returns true if anything was done: not while a rehearsal has frozen the process.
  bool turn();
  // Calls all submitters. Afterwards, a submitter that submits no more may be destroyed.
  void take_submissions() { submissions_.take(); }
  // `announce`: announces the link's addresses to the network at once.
  void add_link(std::unique_ptr<Link> link, bool announce = true);
  // Fails the link's flows and returns the link.
  std::unique_ptr<Link> remove_link(Link& link);
  [[nodiscard]] const std::vector<std::unique_ptr<Link>>& links() const { return links_; }
  void add_carrier(std::unique_ptr<PolledCarrier> carrier) { polled_.push_back(std::move(carrier)); }
  // Returns the carrier with this number; null if it has been removed.
  [[nodiscard]] Carrier* find_carrier(std::uint64_t number) const;
  // Of connections that come in by a polled carrier; null: there is none.
  [[nodiscard]] Acceptor* acceptor() const { return acceptor_; }
  // Calls on_time() of the object until leave() is called; each may be called any number of times, also from
  // on_time().
  void tend(Tended& tended);
  void leave(Tended& tended);

  // Opens a connection. Returns null if the link has no address of the destination's family or no port is
  // free.
  TcpFlow* connect(Link& link, const net::IpAddress& remote, std::uint16_t port, FlowHandler* handler,
                   std::size_t index);
  // Passes the unread bytes to the handler again.
  void resume(TcpFlow& flow);
  // What Flow's functions of these names do.
  void wake(TcpFlow& flow);
  void close(TcpFlow& flow);
  void abort(TcpFlow& flow, std::string_view reason = {});
  // Waits, for a bounded time, until no driver refers to payload memory. Call after aborting the flows that
  // send it.
  void drain_payload();
  // Returns true if the next hop of the flow has not answered for some seconds: net::Interface::is_silent().
  [[nodiscard]] bool is_silent(const TcpFlow& flow) const;
  [[nodiscard]] std::size_t flows() const;
  // Those over our own TCP, and the carriers of the others.
  [[nodiscard]] const std::vector<std::unique_ptr<TcpFlow>>& own_flows() const { return flows_; }
  [[nodiscard]] const std::vector<std::unique_ptr<PolledCarrier>>& polled_carriers() const { return polled_; }
  // Returns true while a locally closed flow, which the peer has not closed, still has unacknowledged data or
  // FIN.
  [[nodiscard]] bool owes_peers() const;
  // Returns a time before which no flow's timer expires.
  [[nodiscard]] Instant next_deadline() const { return deadlines_.next(); }
  [[nodiscard]] const EngineCounters& counters() const { return counters_; }
  // Forgets all flows, without a segment to their peers, and frees the packets that other engines have handed
  // over. No engine that shares a wire with this one may be turned afterwards, because it may hold packets of
  // this one's pool.
  void halt();

 private:
  static constexpr std::size_t kBurst = 32;

  class LinkProgress;  // what the flows of a link know of its neighbours

  // How the current packet has come in.
  enum class Arrival : std::uint8_t { own_queue, handed_over, news };

  // --- receive.cc
  bool receive(Link& link);
  void on_burst(Link& link, std::span<rte_mbuf*> packets);
  // These return true if the packet now belongs to a flow, or has been freed.
  bool on_packet(Link& link, rte_mbuf* packet);
  bool on_tcp(Link& link, const net::TcpPacket& tcp, rte_mbuf* packet);
  bool on_known(TcpFlow& flow, const net::KnownSegment& known, rte_mbuf* packet);
  [[nodiscard]] static bool is_plain(const Link& link, const TcpFlow& flow);
  // Returns what is known of a packet from the driver and from the way it came in.
  [[nodiscard]] net::RxMeta meta_of(const Link& link, const rte_mbuf& packet) const;
  // Returns the flow that the segment belongs to; null if there is none, or the segment has been answered.
  TcpFlow* flow_for(Link& link, const net::TcpPacket& tcp, const stack::SegmentIn& segment);
  // Returns true if the segment's packet now belongs to the flow.
  bool hand(TcpFlow& flow, const stack::SegmentIn& segment);
  void on_icmp(const net::IcmpError& error);

  void on_chain(Link& link, rte_mbuf* head);  // receive_chain.cc

  // --- half_open.cc: segments of no connection
  TcpFlow* on_unknown(Link& link, const net::TcpPacket& tcp, const FlowKey& key,
                      const stack::SegmentIn& segment);
  void accept(Link& link, const net::TcpPacket& tcp, const FlowKey& key, const stack::SegmentIn& syn);
  TcpFlow* reopen(Link& link, const FlowKey& key, const stack::SegmentIn& ack);
  TcpFlow* introduce(Link& link, const FlowKey& key, std::unique_ptr<stack::Connection> connection);
  void answer(Link& link, const net::TcpPacket& tcp, const stack::SegmentOut& segment);
  void answer_with_reset(Link& link, const net::TcpPacket& tcp, const stack::SegmentIn& segment);
  void begin_handshake(Link& link, const net::TcpPacket& tcp, const FlowKey& key, const stack::SegmentIn& syn,
                       stack::Seq iss);
  bool reincarnate(TcpFlow& flow, const net::TcpPacket& tcp, const stack::SegmentIn& syn);

  // --- shared_wire.cc: packets from other engines, and ports
  bool receive_from_others(Link& link);
  std::optional<std::uint16_t> choose_port(Link& link, const net::IpAddress& local,
                                           const net::IpAddress& remote, std::uint16_t remote_port);
  static void begin_trial(TcpFlow& flow);
  bool try_another_port(TcpFlow& flow, const net::TcpPacket& tcp, const stack::SegmentIn& segment);
  void move(TcpFlow& flow, std::uint16_t port);

  [[gnu::cold]] bool is_frozen();
  void deliver(TcpFlow& flow);
  void run_timers();
  void run_progress();
  bool run_output(Link& link);
  bool output(TcpFlow& flow);
  bool ready_to_send(TcpFlow& flow);
  [[nodiscard]] stack::ConnectionError failure_of(const TcpFlow& flow) const;
  void forgive_pause();
  void service_links();
  void on_link_away(const Link& link);
  void end_flows_of(const Link& link);
  void bound_time_wait(TcpFlow& flow);
  static void forget_payload(TcpFlow& flow);
  void reap();

  TcpFlow& add_flow(const FlowKey& key, Link& link, FlowHandler* handler, std::size_t index,
                    std::unique_ptr<stack::Connection> connection);
  void remove_flow(TcpFlow& flow);
  void mark(TcpFlow& flow);
  // Returns a free one of our ports for which `fits(port)` is true; nothing if there is none.
  template <class Fits>
  std::optional<std::uint16_t> free_port(const net::IpAddress& local, const net::IpAddress& remote,
                                         std::uint16_t remote_port, const Fits& fits) {
    const int listeners = options_.port - options_.number;
    return ports_.choose(local.bytes, remote.bytes, remote_port, [&](std::uint16_t port) {
      const bool listened = port == options_.port || (options_.listeners > 1 && port >= listeners &&
                                                      port < listeners + options_.listeners);
      return !listened && table_.find(table_key({local, remote, {port, remote_port}})) == nullptr &&
             fits(port);
    });
  }
  [[nodiscard]] stack::Seq initial_sequence(const FlowKey& key) const;

  EngineOptions options_;
  EngineLock lock_;
  std::atomic<Duration::rep> last_turn_{0};
  std::atomic<Duration::rep> paused_{0};
  Submissions submissions_;

  PayloadStore payloads_;
  stack::SequenceGenerator sequences_;
  stack::SynCookies cookies_;
  stack::PortSelector ports_;
  Acceptor* acceptor_ = nullptr;
  Observer* observer_ = nullptr;
  observe::RingPage recorder_page_;
  stack::SegmentOut outgoing_;  // what output() is about to send: to make one each time takes too long
  std::vector<std::unique_ptr<Link>> links_;
  std::vector<std::unique_ptr<PolledCarrier>> polled_;
  stack::FlowTable<TcpFlow> table_;
  KnownFlows known_;
  LastWords last_words_;
  std::vector<std::unique_ptr<TcpFlow>> flows_;
  std::vector<Tended*> tended_;  // null: has left
  std::vector<TcpFlow*> progressed_;
  std::vector<TcpFlow*> progressed_now_;
  std::vector<TcpFlow*> finished_;
  std::deque<TcpFlow*> time_wait_;  // oldest first
  Deadlines deadlines_;
  Arrival arrival_ = Arrival::own_queue;
  Instant now_{};
  Instant next_service_{};
  Instant cookies_until_{};  // all cookies that were sent have expired after this
  std::uint32_t half_open_ = 0;
  ReplyBudget resets_;
  EngineCounters counters_;
};

inline void Engine::mark(TcpFlow& flow) {
  if (!flow.wants_progress_) {
    flow.wants_progress_ = true;
    progressed_.push_back(&flow);
  }
  wake(flow);
}

inline void Engine::wake(TcpFlow& flow) {
  if (!flow.wants_output_) {
    flow.wants_output_ = true;
    flow.link().output().push(flow);
  }
}

}  // namespace tfabric::engine
