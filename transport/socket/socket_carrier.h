// The kernel's TCP over one interface, as a carrier of an engine: a listening socket, and flows.
//
// Needs no privilege, no DPDK and no memory of its own but a buffer to read into. The engine gives it turns;
// it has no thread. One epoll says which sockets have something.
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
#include "transport/socket/kernel_socket.h"
#include "transport/socket/socket_flow.h"
#include "transport/tcp/engine/carrier.h"
#include "transport/tcp/engine/engine.h"
#include "transport/tcp/engine/link_watch.h"

namespace tfabric::socket {

class SocketCarrier final : public engine::PolledCarrier {
 public:
  struct Options {
    std::string rail;        // its name
    std::string interface;   // of the kernel
    net::IpAddress address;  // of the interface
    bool announces = true;   // of the engines that share the interface, one speaks of its link
    SocketLimits limits;
  };
  // `engine`: the one that it will belong to, whose acceptor takes the connections that peers open.
  static Result<std::unique_ptr<SocketCarrier>> open(engine::Engine& engine, Options options);
  ~SocketCarrier() override;

  // Where it listens.
  [[nodiscard]] std::uint16_t port() const { return port_; }
  [[nodiscard]] const SocketLimits& limits() const { return options_.limits; }
  // The time of this turn.
  [[nodiscard]] Instant now() const { return now_; }

  // --- engine::PolledCarrier
  [[nodiscard]] const std::string& name() const override { return options_.rail; }
  engine::Flow* connect(engine::Engine& engine, const net::IpAddress& remote, std::uint16_t port,
                        engine::FlowHandler* handler, std::size_t index) override;
  [[nodiscard]] bool is_away() const override { return watch_.away_since().has_value(); }
  [[nodiscard]] bool has_ended(Instant /*now*/) const override { return retired(); }
  [[nodiscard]] std::string why_away(Instant now) const override;
  bool receive(Instant now) override;
  bool send(Instant now) override;
  void on_time(Instant now) override;
  [[nodiscard]] std::size_t flows() const override { return flows_.size(); }
  [[nodiscard]] engine::Flow& flow_at(std::size_t place) const override { return *flows_[place]; }
  [[nodiscard]] bool owes_peers() const override;
  void halt() override;

  // --- for its flows
  // The flow has something to write.
  void want_write(SocketFlow& flow);
  // Something has changed that the flow's handler is to hear of.
  void has_news(SocketFlow& flow);
  // Closes the flow's socket; the object goes at the end of the turn.
  void end(SocketFlow& flow);

 private:
  SocketCarrier(engine::Engine& engine, Options options, bootstrap::ListeningSocket listener,
                Descriptor epoll);

  SocketFlow* add(PrivateDescriptor socket, bool connected, engine::FlowHandler* handler, std::size_t index);
  [[nodiscard]] bool is_on_this_host(const config::IpBytes& ip);
  void accept_all();
  bool take_events();
  void want_read(SocketFlow& flow);
  void pass_news();
  void watch_link(Instant now);

  engine::Engine* engine_;
  Options options_;
  PrivateDescriptor listener_;
  std::uint16_t port_;
  PrivateDescriptor epoll_;
  host::InterfaceQuery interfaces_;
  engine::LinkWatch watch_;
  std::vector<std::byte> scratch_;  // empty until there is a flow
  std::vector<std::unique_ptr<SocketFlow>> flows_;
  std::vector<std::unique_ptr<SocketFlow>> over_;
  std::vector<SocketFlow*> reads_, writes_, news_, news_now_;
  Instant now_;
  Instant next_look_{}, next_link_{}, next_accept_{};
  std::vector<host::LocalAddress> own_addresses_;  // of this host
  Instant own_addresses_at_{};                     // when they were read
  Instant warned_{};                               // that no socket could be opened
};

}  // namespace tfabric::socket
