// A host with our TCP in virtual time: a clock, sockets, one network interface without a cable.
//
// Not thread-safe. Connections live on after their sockets are closed, as long as they have something to do.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "base/time.h"
#include "tests/packetdrill/ip_packet.h"
#include "tests/packetdrill/socket.h"

namespace tfabric::drill {

struct SentPacket {
  std::vector<std::byte> bytes;
  Instant time;
};

class Host {
 public:
  // `after_event`: called whenever something has happened that a blocked call may wait for.
  Host(const net::IpAddress& address, std::function<void()> after_event);

  Socket& open_socket(int fd, bool ipv6);
  [[nodiscard]] Socket* find(int fd);
  void connect(Socket& socket, const net::IpAddress& remote, std::uint16_t port);
  // An established connection of `listener` that nobody has accepted; null if there is none.
  [[nodiscard]] Socket* acceptable(const Socket& listener);
  void close(Socket& socket);
  // After anything that may make a connection send.
  void send_segments(Socket& socket);

  [[nodiscard]] Instant now() const { return now_; }
  // The clock moves when it is read: packetdrill waits in a loop that reads it.
  Instant read_clock();
  void advance(Duration time);
  void receive(std::span<const std::byte> packet);
  // The next packet sent, if need be after waiting for the timer that sends it. Empty: there will be none.
  std::optional<SentPacket> next_packet();

 private:
  [[nodiscard]] Instant next_deadline() const;
  void run_timers();
  Socket* find_connection(const TcpPacket& packet);
  Socket* find_listener(const TcpPacket& packet);
  void deliver(Socket& socket, const TcpPacket& packet);
  void open_passively(Socket& listener, const TcpPacket& packet);
  void transmit(const net::IpAddress& source, const net::IpAddress& destination,
                const stack::SegmentOut& segment);
  [[nodiscard]] stack::Seq initial_sequence() const;
  [[nodiscard]] stack::Options options_for(const Socket& socket) const;

  net::IpAddress address_;
  std::function<void()> after_event_;
  Instant now_{std::chrono::hours(1)};
  std::uint16_t next_port_ = 40000;
  std::vector<std::unique_ptr<Socket>> sockets_;
  std::deque<SentPacket> sent_;
};

}  // namespace tfabric::drill
