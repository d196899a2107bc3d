// A byte stream to a peer that never blocks: a socket, or in tests whatever they make of it.
#pragma once

#include <cstddef>
#include <span>

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

}  // namespace tfabric::rdma::session
