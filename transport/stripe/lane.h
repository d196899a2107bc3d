// A lane: one ordered pipe of a comm, as the message layer uses it. A TCP connection is one.
//
// All that is asked of a lane is order: what has arrived of it is always a prefix of what it was given, and
// the receiver knows how long that prefix is. Positions are 64-bit and count what the lane counts, bytes of
// its stream or requests; they only grow. A lane may place pieces in the receiver's memory by itself: then it
// takes none of a message before it knows where that goes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

#include "transport/stripe/message.h"

namespace tfabric::lane {
class RegisteredMemory;
}

namespace tfabric::stripe {

// A message to send, and the posted receive that it goes to.
struct Outgoing {
  const void* data = nullptr;
  std::uint32_t size = 0;
  std::uint32_t tag = 0;
  GroupId group;
  ReceiveIndex index;
  // Of the memory, for NICs that send it by reference; null: they cannot.
  void* owner = nullptr;
  // The same for adapters that place messages by themselves.
  const lane::RegisteredMemory* registered = nullptr;
  bool on_host = true;  // the CPU may read it, and write to its receive
};

// A part of a message, or all of it, which travels on one lane. `offset` is a multiple of kLineBytes; the
// length is, too, unless the piece is the message's last.
struct Piece {
  const Outgoing* message = nullptr;
  std::uint32_t offset = 0;
  std::uint32_t length = 0;
  [[nodiscard]] const std::byte* data() const {
    return static_cast<const std::byte*>(message->data) + offset;
  }
};

struct LaneRoom {
  std::uint64_t queued = 0;  // bytes that were given and are not confirmed
  std::uint32_t room = 0;    // bytes of the largest piece that the lane takes now; 0: full, worth waiting for
  // False: nothing of this message, whatever room there is. The lane does not know yet where it goes, or
  // cannot read its memory.
  bool takes = true;
};

// The positions that a piece takes: [begin, end).
struct Span {
  std::uint64_t begin = 0, end = 0;
  // The lane counts requests: the piece is there whole or not at all. Otherwise it counts bytes, and has the
  // piece's there and nothing else.
  bool whole = false;
};

class Lane {
 public:
  // Returns what the lane takes now of this message.
  [[nodiscard]] virtual LaneRoom look(const Outgoing& message) const = 0;
  // Takes a piece of the message that was looked at last, of at most look().room bytes. Returns nothing, and
  // has taken nothing, if other limits of the lane leave no room now.
  virtual std::optional<Span> give(const Piece& piece) = 0;

 protected:
  ~Lane() = default;
};

// A lane of a comm, as messages are dealt to it.
struct Outlet {
  Lane* lane = nullptr;    // null: it gets no pieces
  std::uint64_t rate = 0;  // bytes a second that it delivers, or more; 0: not known yet
  // How long a byte is on its way when nothing is before it, in seconds: half the least round trip. What
  // queues in the network is not in it: those bytes are in LaneRoom::queued.
  double latency = 0;
  // The largest piece if there are several lanes; a multiple of kLineBytes.
  std::uint32_t piece_bytes = 512u << 10;
  // Its rate may have changed since it was known: its next piece goes there whatever others would do.
  bool probe = false;
};

}  // namespace tfabric::stripe
