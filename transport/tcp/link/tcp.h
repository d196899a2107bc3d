// Our own TCP in one engine: packets from the links to the TCP machines, and the machines' segments to the
// links.
//
// The first half of a turn is receive bursts -> timers, the second one
//   handlers' progress -> output -> transmit bursts,
// so that a burst of segments is answered by one ACK for each flow.
#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "base/time.h"
#include "transport/engine/engine.h"
#include "transport/engine/hold.h"
#include "transport/engine/turn.h"
#include "transport/tcp/link/deadlines.h"
#include "transport/tcp/link/known_flows.h"
#include "transport/tcp/link/last_words.h"
#include "transport/tcp/link/link.h"
#include "transport/tcp/link/options.h"
#include "transport/tcp/link/payload_store.h"
#include "transport/tcp/link/reply_budget.h"
#include "transport/tcp/link/tcp_flow.h"
#include "transport/tcp/stack/connection.h"
#include "transport/tcp/stack/flow_table.h"
#include "transport/tcp/stack/port_selector.h"
#include "transport/tcp/stack/syn_cookie.h"

namespace tfabric::link {

struct Counters {
  std::uint64_t segments = 0, no_flow = 0, output_lost = 0;
  std::uint64_t cookies_sent = 0, cookies_taken = 0, cookies_refused = 0;
  std::uint64_t time_wait_reused = 0, time_wait_dropped = 0;
  std::uint64_t ports_tried = 0;  // local ports of a connection after its first
  ExchangeCounters exchange;
};

class Tcp final : public engine::Polled {
 public:
  // `engine`: whose turns it gets; it outlives this.
  Tcp(engine::Engine& engine, const Options& options);
  ~Tcp() override;

  [[nodiscard]] engine::Engine& engine() const { return *engine_; }
  [[nodiscard]] std::uint16_t port() const { return options_.port; }
  [[nodiscard]] const stack::Options& options() const { return options_.tcp; }
  // Where the rings of Flow::set_recorder() are, which outlive the flows.
  void set_recorder_page(const observe::RingPage& page) { recorder_page_ = page; }

  // `announce`: announces the link's addresses to the network at once.
  void add_link(std::unique_ptr<Link> link, bool announce = true) TF_IN_TURN;
  // Fails the link's flows and returns the link.
  std::unique_ptr<Link> remove_link(Link& link) TF_IN_TURN;
  [[nodiscard]] const std::vector<std::unique_ptr<Link>>& links() const TF_IN_TURN { return links_; }

  // Others carry what there is to carry, and no other engine's packets come in here: without flows, links are
  // looked at once a millisecond.
  void stand_beside() TF_IN_TURN { beside_ = true; }

  // Opens a connection. Returns null if the link has no address of the destination's family or no port is
  // free.
  TcpFlow* connect(Link& link, const net::IpAddress& remote, std::uint16_t port, engine::FlowHandler* handler,
                   std::size_t index) TF_IN_TURN;
  // Passes the unread bytes to the handler again.
  void resume(TcpFlow& flow) TF_IN_TURN;
  // What Flow's functions of these names do.
  void wake(TcpFlow& flow) TF_IN_TURN;
  void close(TcpFlow& flow) TF_IN_TURN;
  void abort(TcpFlow& flow, std::string_view reason = {}) TF_IN_TURN;
  // Returns true if the next hop of the flow has not answered for some seconds: net::Interface::is_silent().
  [[nodiscard]] bool is_silent(const TcpFlow& flow) const TF_IN_TURN;
  [[nodiscard]] const std::vector<std::unique_ptr<TcpFlow>>& all_flows() const TF_IN_TURN { return flows_; }
  // Returns a time before which no flow's timer expires.
  [[nodiscard]] Instant next_deadline() const TF_IN_TURN { return deadlines_.next(); }
  [[nodiscard]] const Counters& all_counters() const TF_IN_TURN { return counters_; }

  // --- engine::Polled
  bool receive(Instant now) override TF_IN_TURN;
  bool send(Instant now, bool quiet) override TF_IN_TURN;
  void on_time(Instant now) override TF_IN_TURN;
  void forgive(Duration pause, Instant now) override TF_IN_TURN;
  [[nodiscard]] std::size_t carriers() const override TF_IN_TURN { return links_.size(); }
  [[nodiscard]] engine::Carrier& carrier_at(std::size_t place) override TF_IN_TURN { return *links_[place]; }
  [[nodiscard]] std::size_t flows() const override TF_IN_TURN { return flows_.size(); }
  [[nodiscard]] engine::Flow& flow_at(std::size_t place) const override TF_IN_TURN { return *flows_[place]; }
  [[nodiscard]] bool owes_peers() const override TF_IN_TURN;
  [[nodiscard]] engine::PolledCounters counters() const override TF_IN_TURN {
    return {.segments = counters_.segments, .no_flow = counters_.no_flow};
  }
  void drain_payload() override TF_IN_TURN;
  void halt() override TF_IN_TURN;

 private:
  static constexpr std::size_t kBurst = 32;

  class LinkProgress;  // what the flows of a link know of its neighbours

  // How the current packet has come in.
  enum class Arrival : std::uint8_t { own_queue, handed_over, news };

  // --- receive.cc
  bool receive_from(Link& link) TF_IN_TURN;
  void on_burst(Link& link, std::span<rte_mbuf*> packets) TF_IN_TURN;
  // These return true if the packet now belongs to a flow, or has been freed.
  bool on_packet(Link& link, rte_mbuf* packet) TF_IN_TURN;
  bool on_tcp(Link& link, const net::TcpPacket& tcp, rte_mbuf* packet) TF_IN_TURN;
  bool on_known(TcpFlow& flow, const net::KnownSegment& known, rte_mbuf* packet) TF_IN_TURN;
  [[nodiscard]] static bool is_plain(const Link& link, const TcpFlow& flow);
  // Returns what is known of a packet from the driver and from the way it came in.
  [[nodiscard]] net::RxMeta meta_of(const Link& link, const rte_mbuf& packet) const;
  // Returns the flow that the segment belongs to; null if there is none, or the segment has been answered.
  TcpFlow* flow_for(Link& link, const net::TcpPacket& tcp, const stack::SegmentIn& segment) TF_IN_TURN;
  // Returns true if the segment's packet now belongs to the flow.
  bool hand(TcpFlow& flow, const stack::SegmentIn& segment) TF_IN_TURN;
  void on_icmp(const net::IcmpError& error) TF_IN_TURN;

  void on_chain(Link& link, rte_mbuf* head) TF_IN_TURN;  // receive_chain.cc

  // --- half_open.cc: segments of no connection
  TcpFlow* on_unknown(Link& link, const net::TcpPacket& tcp, const FlowKey& key,
                      const stack::SegmentIn& segment) TF_IN_TURN;
  void accept(Link& link, const net::TcpPacket& tcp, const FlowKey& key,
              const stack::SegmentIn& syn) TF_IN_TURN;
  TcpFlow* reopen(Link& link, const FlowKey& key, const stack::SegmentIn& ack) TF_IN_TURN;
  TcpFlow* introduce(Link& link, const FlowKey& key,
                     std::unique_ptr<stack::Connection> connection) TF_IN_TURN;
  void answer(Link& link, const net::TcpPacket& tcp, const stack::SegmentOut& segment) TF_IN_TURN;
  void answer_with_reset(Link& link, const net::TcpPacket& tcp, const stack::SegmentIn& segment) TF_IN_TURN;
  void begin_handshake(Link& link, const net::TcpPacket& tcp, const FlowKey& key, const stack::SegmentIn& syn,
                       Seq iss) TF_IN_TURN;
  bool reincarnate(TcpFlow& flow, const net::TcpPacket& tcp, const stack::SegmentIn& syn) TF_IN_TURN;

  // --- shared_wire.cc: packets from other engines, and ports
  bool receive_from_others(Link& link) TF_IN_TURN;
  std::optional<std::uint16_t> choose_port(Link& link, const net::IpAddress& local,
                                           const net::IpAddress& remote, std::uint16_t remote_port);
  static void begin_trial(TcpFlow& flow);
  bool try_another_port(TcpFlow& flow, const net::TcpPacket& tcp, const stack::SegmentIn& segment) TF_IN_TURN;
  void move(TcpFlow& flow, std::uint16_t port) TF_IN_TURN;

  void deliver(TcpFlow& flow) TF_IN_TURN;
  void run_timers() TF_IN_TURN;
  void run_progress() TF_IN_TURN;
  void release_acknowledgements() TF_IN_TURN;
  bool run_output(Link& link) TF_IN_TURN;
  bool output(TcpFlow& flow) TF_IN_TURN;
  bool ready_to_send(TcpFlow& flow) TF_IN_TURN;
  [[nodiscard]] stack::ConnectionError failure_of(const TcpFlow& flow) const TF_IN_TURN;
  void on_link_away(const Link& link) TF_IN_TURN;
  void end_flows_of(const Link& link) TF_IN_TURN;
  void bound_time_wait(TcpFlow& flow) TF_IN_TURN;
  static void forget_payload(TcpFlow& flow) TF_IN_TURN;
  void reap() TF_IN_TURN;

  TcpFlow& add_flow(const FlowKey& key, Link& link, engine::FlowHandler* handler, std::size_t index,
                    std::unique_ptr<stack::Connection> connection) TF_IN_TURN;
  void remove_flow(TcpFlow& flow) TF_IN_TURN;
  void mark(TcpFlow& flow) TF_IN_TURN;
  // Returns a free one of our ports for which `fits(port)` is true; nothing if there is none.
  template <class Fits>
  std::optional<std::uint16_t> free_port(const net::IpAddress& local, const net::IpAddress& remote,
                                         std::uint16_t remote_port, const Fits& fits) {
    const int listeners = options_.port - engine_->number();
    return ports_.choose(local.bytes, remote.bytes, remote_port, [&](std::uint16_t port) {
      const bool listened = port == options_.port || (options_.listeners > 1 && port >= listeners &&
                                                      port < listeners + options_.listeners);
      return !listened && table_.find(table_key({local, remote, {port, remote_port}})) == nullptr &&
             fits(port);
    });
  }
  [[nodiscard]] Seq initial_sequence(const FlowKey& key) const;

  engine::Engine* engine_;
  void wake_up() TF_IN_TURN {
    rests_until_ = {};
    set_output(true);
  }

  Options options_;
  bool beside_ = false;
  PayloadStore payloads_;
  stack::SequenceGenerator sequences_;
  stack::SynCookies cookies_;
  stack::PortSelector ports_;
  observe::RingPage recorder_page_;
  stack::SegmentOut outgoing_;  // what output() is about to send: to make one each time takes too long
  std::vector<std::unique_ptr<Link>> links_;
  stack::FlowTable<TcpFlow> table_;
  KnownFlows known_;
  LastWords last_words_;
  std::vector<std::unique_ptr<TcpFlow>> flows_;
  std::vector<TcpFlow*> progressed_;
  std::vector<TcpFlow*> progressed_now_;
  std::vector<TcpFlow*> finished_;
  std::vector<TcpFlow*> held_;  // whose acknowledgements are held back
  engine::Hold hold_;
  std::deque<TcpFlow*> time_wait_;  // oldest first
  Deadlines deadlines_;
  Arrival arrival_ = Arrival::own_queue;
  Instant now_{};
  Instant cookies_until_{};  // all cookies that were sent have expired after this
  std::uint32_t half_open_ = 0;
  ReplyBudget resets_;
  Counters counters_;
};

// Gives the engine our own TCP, and returns it.
inline Tcp& add_tcp(engine::Engine& engine, const Options& options) {
  auto tcp = std::make_unique<Tcp>(engine, options);
  Tcp& added = *tcp;
  const engine::Guard guard(engine.lock());
  engine.add(std::move(tcp));
  return added;
}

inline void Tcp::mark(TcpFlow& flow) {
  if (!flow.wants_progress_) {
    flow.wants_progress_ = true;
    progressed_.push_back(&flow);
  }
  wake(flow);
}

inline void Tcp::wake(TcpFlow& flow) {
  if (!flow.wants_output_) {
    flow.wants_output_ = true;
    flow.link().output().push(flow);
  }
}

}  // namespace tfabric::link
