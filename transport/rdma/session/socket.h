// Byte streams that never block, and the kernel's TCP sockets that implement them.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <span>

#include "base/result.h"
#include "transport/bootstrap/socket.h"

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
  // Becomes readable when there is something to read; -1: there is none.
  [[nodiscard]] virtual int descriptor() const { return -1; }
  // Returns whether the peer's kernel has acknowledged all that was written.
  [[nodiscard]] virtual bool all_acknowledged() const { return true; }
};

// A dead connection is noticed after about 20 s without traffic (keep-alive): while the connection stands,
// the peer's process exists. Errors are those of bootstrap/socket.h.

struct AcceptedStream {
  std::unique_ptr<Stream> stream;
  bootstrap::SocketAddress peer;
};
// Returns nothing if no connection is waiting.
[[nodiscard]] Result<std::optional<AcceptedStream>> accept_stream(int listening);

// Starts connecting. The first write succeeds once the connection is established, or returns why it failed.
[[nodiscard]] Result<std::unique_ptr<Stream>> dial_stream(const bootstrap::SocketAddress& address);

}  // namespace tfabric::rdma::session
