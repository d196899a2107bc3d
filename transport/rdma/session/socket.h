// The kernel's TCP: listening sockets and streams, none of which blocks.
//
// A stream that has died is noticed after about 20 s without traffic (keep-alive): as long as the connection
// is there, so is the peer's process. Errors are Errc::system and name the address.
#pragma once

#include <memory>
#include <optional>
#include <span>

#include "base/result.h"
#include "transport/rdma/discovery/socket_address.h"
#include "transport/rdma/session/stream.h"

namespace tfabric::rdma::session {

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
