// A byte stream to a peer that never blocks: a socket, or in tests whatever they make of it.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <span>

#include "base/result.h"
#include "transport/rdma/discovery/socket_address.h"

namespace tfabric::rdma::session {

// What a read or a write has come to. No bytes, not closed, no error: not now, call again.
struct Transfer {
  std::size_t bytes = 0;
  bool closed = false;  // by the peer: nothing more will come
  int error = 0;        // errno; the stream is of no more use
};

class Stream {
 public:
  Stream() = default;
  Stream(const Stream&) = delete;
  Stream& operator=(const Stream&) = delete;
  virtual ~Stream() = default;

  virtual Transfer read(std::span<std::byte> bytes) = 0;
  virtual Transfer write(std::span<const std::byte> bytes) = 0;
};

// The kernel's TCP: listening sockets and streams, none of which blocks.
//
// A stream that has died is noticed after about 20 s without traffic (keep-alive): as long as the connection
// is there, so is the peer's process. Errors are Errc::system and name the address.

// Owns a descriptor.
class Socket {
 public:
  Socket() = default;
  explicit Socket(int descriptor) : descriptor_(descriptor) {}
  Socket(Socket&& other) noexcept;
  Socket& operator=(Socket&& other) noexcept;
  ~Socket();

  [[nodiscard]] int get() const { return descriptor_; }
  [[nodiscard]] bool valid() const { return descriptor_ >= 0; }

 private:
  int descriptor_ = -1;
};

struct ListeningSocket {
  Socket socket;
  std::uint16_t port = 0;  // chosen by the kernel
};

// Listens on the address if it is one, else on all of this host's.
[[nodiscard]] Result<ListeningSocket> listen_tcp(std::span<const config::IpBytes> addresses);

struct AcceptedStream {
  std::unique_ptr<Stream> stream;
  SocketAddress peer;
};
// Empty: nobody is waiting.
[[nodiscard]] Result<std::optional<AcceptedStream>> accept_tcp(const Socket& listening);

// Begins to connect; the stream is of use once the first write takes bytes, or says why it did not work.
[[nodiscard]] Result<std::unique_ptr<Stream>> dial_tcp(const SocketAddress& address);

}  // namespace tfabric::rdma::session
