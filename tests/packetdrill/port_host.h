// A host in real time: an engine on a memif rail, opened as the plugin opens it, whose other end is
// packetdrill's.
//
// IPv4 only, as nothing here answers neighbour solicitations.
#pragma once

#include <memory>
#include <vector>

#include "tests/packetdrill/host.h"
#include "tests/packetdrill/wire_end.h"
#include "transport/rails/rail.h"
#include "transport/tcp/link/tcp.h"

namespace tfabric::drill {

class PortHost final : public Host, private engine::Acceptor, private engine::FlowHandler {
 public:
  static Result<std::unique_ptr<PortHost>> open(const net::IpAddress& address,
                                                std::function<void()> after_event);

  void connect(Socket& socket, const net::IpAddress& remote, std::uint16_t port) override;
  void send_segments(Socket& socket) override;

  [[nodiscard]] Instant now() const override { return monotonic_now(); }
  Instant read_clock() override;
  void advance(Duration time) override;
  void receive(std::span<const std::byte> packet) override;

 private:
  void end(Socket& socket, bool abort) override;
  void await_packet() override;
  explicit PortHost(std::function<void()> after_event);
  Status open_wire(const net::IpAddress& address);

  bool on_connection(engine::Flow& flow) override;
  std::size_t on_data(engine::Flow& flow, std::span<const std::byte> bytes) override;
  void on_progress(engine::Flow& flow) override;
  void on_failed(engine::Flow& flow, stack::ConnectionError error) override;

  // Turns the engine, and handles the result. Nothing else turns it.
  void turn();
  void adopt(Socket& socket, link::TcpFlow& flow);
  [[nodiscard]] Socket& socket_of(const engine::Flow& flow) const { return *sockets()[flow.index()]; }

  engine::Engine engine_;
  link::Tcp& tcp_;
  std::unique_ptr<WireEnd> wire_;
  std::unique_ptr<rails::Rail> rail_;
  link::Link* link_ = nullptr;
  std::vector<link::TcpFlow*> flows_;  // by the socket's number; null: it has none
  bool event_ = false;
};

}  // namespace tfabric::drill
