// A relay between a connector and a listener on the loopback interface, whose connections can be cut after
// any number of bytes: what is on its way is lost then, as in a network.
#pragma once

#include <array>
#include <memory>
#include <vector>

#include "transport/bootstrap/socket.h"
#include "transport/socket/kernel_socket.h"

namespace tfabric::socket::test {

class Relay {
 public:
  // To the port there.
  explicit Relay(std::uint16_t port);

  [[nodiscard]] std::uint16_t port() const { return listener_.port; }
  // Passes on what has come. Call it again and again.
  void pump();
  // Each connection that is there now, or comes later, is reset when it has passed on so many more bytes.
  void cut_after(std::size_t bytes);
  // The connections that are there now pass on nothing any more; later ones do.
  void hold() {
    for (const auto& connection : connections_) {
      connection->held_back = true;
    }
  }
  // Ends all connections in order, as the kernel does for a process that was killed, and listens no more.
  void die() {
    connections_.clear();
    listener_.socket.reset();
  }
  [[nodiscard]] std::size_t cuts() const { return cuts_; }

 private:
  struct Connection {
    Connection(PrivateDescriptor a, PrivateDescriptor b) : ends{std::move(a), std::move(b)} {}
    std::array<PrivateDescriptor, 2> ends;
    std::array<std::vector<char>, 2> held;  // read at the other end, to be written at this one
    std::array<bool, 2> ended{};            // the end of the stream was read here
    std::array<bool, 2> passed_on{};        // and has gone out here
    std::size_t left = 0;
    bool over = false, held_back = false;
  };
  bool pass(Connection& connection, std::size_t from);

  std::uint16_t target_;
  bootstrap::ListeningSocket listener_;
  std::vector<std::unique_ptr<Connection>> connections_;
  std::size_t allowance_ = std::size_t{1} << 60;
  std::size_t cuts_ = 0;
};

}  // namespace tfabric::socket::test
