// The kernel's TCP over one interface, as a carrier of an engine: a listening socket, and flows.
//
// Needs no privilege, no DPDK and no memory of its own but a buffer to read into. The engine gives it turns;
// it has no thread. One epoll says which sockets have something; but a few that bring something all the time
// are read without being asked about, which saves a tenth of a round trip at either end.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/descriptor.h"
#include "base/result.h"
#include "host/interfaces.h"
#include "transport/bootstrap/socket.h"
#include "transport/engine/engine.h"
#include "transport/engine/hold.h"
#include "transport/engine/link_watch.h"
#include "transport/engine/turn.h"
#include "transport/lane/stream_carrier.h"
#include "transport/socket/bindings.h"
#include "transport/socket/kernel_socket.h"
#include "transport/socket/small_paths.h"
#include "transport/socket/socket_flow.h"

namespace tfabric::socket {

class SocketCarrier final : public lane::StreamCarrier, public engine::Polled {
 public:
  struct Options {
    std::string rail;                       // its name
    std::string interface;                  // of the kernel
    std::vector<net::IpAddress> addresses;  // of the interface: one, or one of each family
    // The interface leads to the peers itself. Others than loopback and dummy interfaces do: addresses there
    // are the host's, and packets go by whichever interface the routes name.
    bool leads = true;
    // Other interfaces with an address of IPv4 in the same network.
    std::vector<host::LocalAddress> sisters{};
    bool announces = true;  // of the engines that share the interface, one speaks of its link
    SocketLimits limits;
  };
  // `engine`: the one that it will belong to, whose acceptor takes the connections that peers open.
  static Result<std::unique_ptr<SocketCarrier>> make(engine::Engine& engine, Options options);
  ~SocketCarrier() override;

  // Where it listens, at all of its addresses.
  [[nodiscard]] std::uint16_t port() const { return port_; }
  [[nodiscard]] const SocketLimits& limits() const { return options_.limits; }
  // The time of this turn.
  [[nodiscard]] Instant now() const { return now_; }
  // Others carry what there is to carry: while nothing moves here, it is looked at every two milliseconds.
  void stand_beside() { beside_ = true; }

  // --- lane::StreamCarrier
  [[nodiscard]] const std::string& name() const override { return options_.rail; }
  [[nodiscard]] bool has_family_of(const net::IpAddress& remote) const override TF_IN_TURN {
    return own_address_for(remote) != nullptr;
  }
  engine::Flow* connect(const net::IpAddress& remote, std::uint16_t port, engine::FlowHandler* handler,
                        std::size_t index) override TF_IN_TURN;
  // Half of the files that the process may open are: the rest is for whoever else opens some.
  [[nodiscard]] bool is_scarce() override TF_IN_TURN;
  [[nodiscard]] std::optional<Instant> away_since() const override TF_IN_TURN { return watch_.away_since(); }
  [[nodiscard]] bool has_ended(Instant /*now*/) const override TF_IN_TURN { return retired(); }
  [[nodiscard]] std::string why_away(Instant now) const override TF_IN_TURN;
  [[nodiscard]] std::uint64_t absences() const override TF_IN_TURN { return watch_.absences_in_all(); }

  // --- engine::Polled
  bool receive(Instant now) override TF_IN_TURN;
  bool send(Instant now, bool quiet) override TF_IN_TURN;
  void on_time(Instant now) override TF_IN_TURN;
  [[nodiscard]] std::size_t carriers() const override TF_IN_TURN { return 1; }
  [[nodiscard]] engine::Carrier& carrier_at(std::size_t /*place*/) override TF_IN_TURN { return *this; }
  [[nodiscard]] std::size_t flows() const override TF_IN_TURN { return flows_.size(); }
  [[nodiscard]] engine::Flow& flow_at(std::size_t place) const override TF_IN_TURN { return *flows_[place]; }
  [[nodiscard]] bool owes_peers() const override TF_IN_TURN;
  void halt() override TF_IN_TURN;

  // --- for its flows
  // The flow has something to write.
  void want_write(SocketFlow& flow);
  // The flow's handler is to be asked for a report in a moment.
  void owes_report(SocketFlow& flow);
  // The flow does not rest.
  void look_at(SocketFlow& flow);
  // Something has changed that the flow's handler is to hear of.
  void has_news(SocketFlow& flow);
  // Closes the flow's socket; the object goes at the end of the turn.
  void end(SocketFlow& flow) TF_IN_TURN;
  // The flow's bound socket gets no answer to its dial: one that is not bound takes its place. Returns false
  // if it is not bound, or bound ones work with that peer.
  bool dial_unbound(SocketFlow& flow);
  // A bound socket has brought a byte.
  void on_life(const SocketFlow& flow) TF_IN_TURN;

 private:
  using Listeners = std::vector<bootstrap::ListeningSocket>;
  SocketCarrier(engine::Engine& engine, Options options, Listeners listeners, Descriptor epoll);
  static Result<Listeners> listen(const std::vector<net::IpAddress>& addresses);

  SocketFlow* add(PrivateDescriptor socket, bool connected, engine::FlowHandler* handler, std::size_t index);
  [[nodiscard]] bool watch(int socket, SocketFlow& flow);
  [[nodiscard]] const net::IpAddress* own_address_for(const net::IpAddress& remote) const;
  Result<PrivateDescriptor> dial(const bootstrap::SocketAddress& to, bool bound) const;
  [[nodiscard]] bool is_on_this_host(const config::IpBytes& ip);
  [[nodiscard]] bool shall_bind(const net::IpAddress& remote);
  void bind_accepted(const bootstrap::AcceptedSocket& accepted);
  void accept_all(int listening) TF_IN_TURN;
  void note_end(const SocketFlow& flow) TF_IN_TURN;
  void look_for_black_hole(const SocketFlow& flow) TF_IN_TURN;
  bool take_events() TF_IN_TURN;
  void want_read(SocketFlow& flow);
  void note_arrival(SocketFlow& flow);
  void read_directly(SocketFlow& flow);
  void watch_resting();
  void look_at_flows() TF_IN_TURN;
  void ask_flows() TF_IN_TURN;
  void pass_news() TF_IN_TURN;
  void ask_for_reports() TF_IN_TURN;
  void watch_link(Instant now) TF_IN_TURN;
  void watch_sisters() TF_IN_TURN;
  void stand_in_for(const host::LocalAddress& sister) TF_IN_TURN;

  engine::Engine* engine_;
  Options options_;
  Listeners listeners_;
  std::uint16_t port_;
  Bindings bindings_;
  PrivateDescriptor epoll_;
  host::InterfaceQuery interfaces_;
  engine::LinkWatch watch_;
  std::vector<bool> sister_had_link_;
  std::vector<std::byte> scratch_;  // empty until there is a flow
  std::vector<std::unique_ptr<SocketFlow>> flows_;
  std::vector<std::unique_ptr<SocketFlow>> over_;
  std::vector<SocketFlow*> reads_, writes_, news_, news_now_, owing_, direct_;
  std::vector<SocketFlow*> looked_;  // those that do not rest
  std::size_t next_asked_ = 0;       // of them
  int turns_without_events_ = 0;
  bool beside_ = false;
  Instant moved_at_{};  // when something came last, or was to be sent
  engine::Hold hold_;   // of the reports that are owed
  SmallPaths small_paths_;
  Instant now_;
  Instant next_look_{}, next_link_{};
  std::vector<host::LocalAddress> own_addresses_;  // of this host
  Instant own_addresses_at_{};                     // when they were read
  Instant warned_{};                               // that no socket could be opened
  bool told_scarce_ = false;
};

}  // namespace tfabric::socket
