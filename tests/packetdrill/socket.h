// A socket over one connection of the machine, or over a listening port.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "base/address.h"
#include "tests/packetdrill/segmentation.h"
#include "transport/tcp/stack/connection.h"

namespace tfabric::drill {

struct Socket {
  // Takes the data that the machine has in order, and returns how much that is.
  std::size_t read(std::span<std::byte> out);
  [[nodiscard]] std::size_t unread() const;
  // Everything that the peer sends has been read, or the reader wants no more.
  [[nodiscard]] bool at_end() const;
  // Queues a copy of `bytes`, however many.
  bool write(std::span<const std::byte> bytes);
  [[nodiscard]] std::uint64_t unacknowledged() const;
  // A writer that had filled the buffer may go on.
  [[nodiscard]] bool writable() const;
  // Returns an error that has not been returned yet, as errno; 0: there is none.
  int take_error();
  [[nodiscard]] int pending_error() const;

  // An error that ended it, or its state; whether it was ever opened.
  [[nodiscard]] stack::ConnectionError error() const;
  [[nodiscard]] stack::State state() const;
  [[nodiscard]] bool opened() const { return connection != nullptr || ended.has_value(); }

  std::size_t number = 0;      // among the host's
  int fd = -1;                 // -1: not accepted yet, or closed
  Socket* listener = nullptr;  // of a connection that has not been accepted yet
  bool ipv6 = false;
  bool nonblocking = false;
  bool listening = false;
  bool read_shut = false, write_shut = false;
  bool closed = false;  // by its owner
  bool was_established = false;
  bool error_told = false;
  std::uint32_t send_buffer = 256u << 10;       // as getsockopt(SO_SNDBUF) tells it
  std::optional<std::uint32_t> receive_buffer;  // SO_RCVBUF
  std::uint64_t bytes_read = 0;
  std::optional<std::uint16_t> mss;      // TCP_MAXSEG
  std::optional<Duration> user_timeout;  // TCP_USER_TIMEOUT
  Instant last_data_received{};          // or when the connection was established
  net::IpAddress local, remote;
  std::uint16_t local_port = 0, remote_port = 0;
  stack::Connection* connection = nullptr;      // the host's
  std::optional<stack::ConnectionError> ended;  // with this, and is no more
  Segmentation segmentation;

 private:
  std::vector<std::vector<std::byte>> sent_;  // must stay until acknowledged; kept until the end
};

}  // namespace tfabric::drill
