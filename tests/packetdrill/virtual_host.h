// A host in virtual time: its clock moves when packetdrill waits, and its packets go nowhere but to
// packetdrill.
#pragma once

#include "tests/packetdrill/host.h"
#include "tests/packetdrill/ip_packet.h"

namespace tfabric::drill {

class VirtualHost final : public Host {
 public:
  VirtualHost(const net::IpAddress& address, std::function<void()> after_event);

  void connect(Socket& socket, const net::IpAddress& remote, std::uint16_t port) override;
  void send_segments(Socket& socket) override;

  [[nodiscard]] Instant now() const override { return now_; }
  // The clock moves when it is read.
  Instant read_clock() override;
  void advance(Duration time) override;
  void receive(std::span<const std::byte> packet) override;

 private:
  void end(Socket& socket, bool abort) override;
  void await_packet() override;
  [[nodiscard]] Instant next_deadline() const;
  void run_timers();
  void adopt(Socket& socket, std::unique_ptr<stack::Connection> connection);
  Socket* find_connection(const TcpPacket& packet);
  void deliver(Socket& socket, const TcpPacket& packet);
  void open_passively(Socket& listener, const TcpPacket& packet);
  void transmit(const net::IpAddress& source, const net::IpAddress& destination,
                const stack::SegmentOut& segment);
  [[nodiscard]] Seq initial_sequence() const;
  [[nodiscard]] stack::Options options_for(const Socket& socket) const;

  net::IpAddress address_;
  Instant now_{std::chrono::hours(1)};
  std::uint16_t next_port_ = 40000;
  std::vector<std::unique_ptr<stack::Connection>> connections_;
};

}  // namespace tfabric::drill
