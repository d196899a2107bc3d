// One connection of the witness, as far as its bytes are concerned: openings, then records. The socket is the
// kernel's; reading and writing never block.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>

#include "base/fork_guard.h"
#include "transport/witness/message.h"

namespace tfabric::witness {

// How a connection is, or how it ended.
enum class Life : std::uint8_t {
  open,
  closed,  // in order, as the peer's kernel does when a process ends that has read all
  reset,   // or refused: by the peer's kernel, which then has no such process, or by something on the way
  lost     // the peer's host is not heard any more
};

class Channel {
 public:
  explicit Channel(PrivateDescriptor socket);

  [[nodiscard]] int descriptor() const { return socket_.get(); }
  // Sends all of it. Returns false if the kernel does not take it, which it does not only while the peer has
  // not read for long, or if the connection is over, which the next read() returns.
  [[nodiscard]] bool send(std::span<const std::byte> bytes) const;
  // Reads up to the end of the next message of `size` bytes. Returns nothing while it has not arrived; look
  // at life() then.
  [[nodiscard]] std::span<const std::byte> receive(std::size_t size);
  [[nodiscard]] Life life() const { return life_; }
  // Of a socket that is being dialled: returns true if it is connected; life() is `reset` if it was refused.
  [[nodiscard]] bool finish_dialling();
  // Returns true if the peer's kernel has acknowledged all that was sent.
  [[nodiscard]] bool all_acknowledged() const;

 private:
  PrivateDescriptor socket_;
  std::array<std::byte, kOpeningBytes> buffer_{};
  std::size_t filled_ = 0;
  Life life_ = Life::open;
};

}  // namespace tfabric::witness
