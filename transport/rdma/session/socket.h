// Byte streams that never block, and the kernel's TCP sockets that implement them.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <span>

#include "base/result.h"
#include "transport/rdma/discovery/socket_address.h"

namespace tfabric::rdma::session {

// The result of a read or a write. Without bytes, end and error it means "not now": call again later.
struct Transfer {
  std::size_t bytes = 0;
  bool closed = false;  // closed by the peer; nothing more will arrive
  int error = 0;        // errno; the stream cannot be used any more
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

// A dead connection is noticed after about 20 s without traffic (keep-alive): while the connection stands,
// the peer's process exists. Errors are Errc::system and name the address.

// Owns a socket's descriptor.
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
  std::uint16_t port = 0;  // assigned by the kernel
};

// Listens on the address if there is only one, otherwise on all addresses of this host.
[[nodiscard]] Result<ListeningSocket> listen_tcp(std::span<const config::IpBytes> addresses);

struct AcceptedStream {
  std::unique_ptr<Stream> stream;
  SocketAddress peer;
};
// Returns nothing if no connection is waiting.
[[nodiscard]] Result<std::optional<AcceptedStream>> accept_tcp(const Socket& listening);

// Starts connecting. The first write succeeds once the connection is established, or returns why it failed.
[[nodiscard]] Result<std::unique_ptr<Stream>> dial_tcp(const SocketAddress& address);

}  // namespace tfabric::rdma::session
