// A host with our TCP: a clock, sockets, and one network interface whose cable packetdrill holds.
//
// Used by one thread at a time. Connections live on after their sockets are closed, as long as they have
// something to do.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "base/time.h"
#include "tests/packetdrill/socket.h"

namespace tfabric::drill {

struct SentPacket {
  std::vector<std::byte> bytes;
  Instant time;
};

class Host {
 public:
  virtual ~Host() = default;
  Host(const Host&) = delete;
  Host& operator=(const Host&) = delete;

  Socket& open_socket(int fd, bool ipv6);
  [[nodiscard]] Socket* find(int fd);
  // Returns an established connection of `listener` that is not accepted yet; null: there is none.
  [[nodiscard]] Socket* acceptable(const Socket& listener);

  virtual void connect(Socket& socket, const net::IpAddress& remote, std::uint16_t port) = 0;
  void close(Socket& socket);
  // After anything that may make a connection send.
  virtual void send_segments(Socket& socket) = 0;

  [[nodiscard]] virtual Instant now() const = 0;
  // packetdrill waits in a loop that reads the clock.
  virtual Instant read_clock() = 0;
  virtual void advance(Duration time) = 0;
  virtual void receive(std::span<const std::byte> packet) = 0;
  // The next packet sent, if need be after waiting for it. Empty: there will be none.
  std::optional<SentPacket> next_packet();

 protected:
  // `after_event`: called whenever something has happened that a blocked call may wait for.
  explicit Host(std::function<void()> after_event) : after_event_(std::move(after_event)) {}

  void after_event() const { after_event_(); }
  [[nodiscard]] const std::vector<std::unique_ptr<Socket>>& sockets() const { return sockets_; }
  [[nodiscard]] Socket* find_listener(std::uint16_t port) const;
  // A socket for a connection that has come to `listener`.
  Socket& open_for(Socket& listener);
  // Call whenever its connection may have become established.
  void note_established(Socket& socket) const;
  void deliver_to_packetdrill(std::vector<std::byte> packet) { sent_.push_back({std::move(packet), now()}); }
  [[nodiscard]] bool has_sent() const { return !sent_.empty(); }

 private:
  // Its owner has closed the socket: orderly, or with unread data, by a reset.
  virtual void end(Socket& socket, bool abort) = 0;
  // Until has_sent(), or it is clear that nothing will be.
  virtual void await_packet() = 0;

  std::function<void()> after_event_;
  std::vector<std::unique_ptr<Socket>> sockets_;
  std::deque<SentPacket> sent_;
};

// The kind of host that this adaptor has. Ends the process with a message if it cannot be made.
std::unique_ptr<Host> make_host(const net::IpAddress& address, std::function<void()> after_event);

}  // namespace tfabric::drill
