// The receives that a comm has posted, and the place of each arriving piece.
//
// Receives are posted in groups (of one, unless max_recvs > 1), and a piece names its group and the receive
// within it. Pieces of one message may arrive on any lane, in any order, and each byte exactly once: a piece
// that contradicts this is an error of the peer and ends the comm. A group is complete when all lines of all
// its messages are there.
//
// A small message may come before its receive (message.h, kMaxEagerBytes). It is set aside, and copied when
// the receive is posted, so that a lane never waits for a receive.
//
// Not thread-safe. Memory is allocated as more groups are open at once than ever before, for messages that
// are set aside, and while pieces of a message arrive out of order on several lanes; it is kept then. A comm
// that has received nothing has none.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "base/result.h"
#include "transport/stripe/coverage.h"
#include "transport/stripe/message.h"
#include "transport/transport.h"

namespace tfabric::stripe {

// A piece that arrives, as its header describes it. It lies within its message: offset + length <= total.
struct Arrival {
  GroupId group;
  ReceiveIndex index;
  std::uint32_t tag = 0;
  std::uint32_t offset = 0, length = 0;
  std::uint32_t total = 0;  // the message's size
};

class Inbox {
 public:
  // Groups, and receives, from the oldest that is not complete to the newest.
  static constexpr std::size_t kMaxGroups = transport::kMaxRequests, kMaxReceives = transport::kMaxRequests;

  struct Receive {
    std::byte* data = nullptr;
    std::size_t capacity = 0;
    std::uint32_t tag = 0;
    std::uint32_t total = 0;       // size of the message, known once its first piece has arrived
    std::uint32_t lines_left = 0;  // lines of it that are not there, valid at the same time
    bool complete = false;
    GroupId group;
    Coverage coverage;
  };

  // Makes room for a further group of so many receives. Returns false if too many are open.
  bool make_room(std::size_t receives) { return receives <= room_ || find_room(receives); }
  // Posts the next group; its completion is finished when every message of it is there, which may be at once.
  // Returns false if there is no room. An error is as in claim(): the message that was set aside for the
  // receive does not fit it.
  Result<bool> post(std::span<const transport::ReceiveBuffer> buffers, Completion* completion);
  // The number that the next posted group will have.
  [[nodiscard]] GroupId next_group() const { return next_; }
  // The sender may be told that all groups before this one are posted. It is next_group(), or an earlier one
  // while a message for that one is still being set aside.
  [[nodiscard]] GroupId posted() const { return arriving_ == 0 ? next_ : posted_before_arriving(); }

  // Returns true if the receive is posted and not complete.
  [[nodiscard]] bool awaits(GroupId group, ReceiveIndex index) const {
    const Receive* receive = find(group, index);
    return receive != nullptr && !receive->complete;
  }
  // Claims the piece's bytes and returns the receive that they belong to; null if it is not posted yet:
  // then set_aside() takes the piece. An error is the peer's or the user's fault and final for the comm: a
  // message longer than its buffer, another tag, a receive that the group does not have, a piece that is cut
  // within a line, bytes that were claimed before.
  Result<Receive*> claim(const Arrival& piece);
  // The same for a whole message of so many bytes, of which no tag is known. Null: the receive is not open.
  Result<Receive*> claim_whole(GroupId group, ReceiveIndex index, std::uint32_t bytes);
  // Reports that the next `lines` lines of a piece are in place, which may complete the group.
  void placed(Receive& receive, std::uint32_t lines);
  // The piece's lane has died: this end of what was claimed for it is to come again.
  void give_back(Receive& receive, std::uint32_t offset, std::uint32_t length) {
    receive.coverage.give_back(offset, length);
  }

  // Returns where the bytes of a whole message go whose receive is not posted. The memory stays valid until
  // aside_complete() or drop_aside(). An error is the peer's fault and final: the message is too large, comes
  // too early, or came before.
  Result<std::byte*> set_aside(const Arrival& message);
  // All bytes of the message are there. An error is as in claim().
  Status aside_complete(GroupId group);
  // The message's lane has died before it had come whole.
  void drop_aside(GroupId group);
  // Returns true if whole messages wait for their receives.
  [[nodiscard]] bool has_aside() const;

  // Returns true if the last group that was completed had a message which waits for its receive to be known,
  // or if none was completed yet.
  [[nodiscard]] bool brings_large() const { return brings_large_; }

  // Fails every group that is not complete. Nothing may be placed after it.
  void fail();
  // Returns true if a receive that is not complete would write into [data, data + size).
  [[nodiscard]] bool uses(const void* data, std::size_t size) const;
  [[nodiscard]] std::size_t outstanding() const { return outstanding_; }
  [[nodiscard]] const Traffic& traffic() const { return traffic_; }

 private:
  struct Group {
    std::array<Receive, transport::kMaxGroupedReceives> receives;
    std::uint8_t count = 0;
    std::uint8_t complete = 0;
    std::uint32_t before = 0;  // receives that were posted before it
    Completion* completion = nullptr;
  };
  // A message whose receive is not posted.
  struct Aside {
    enum class State : std::uint8_t { free, arriving, whole };
    State state = State::free;
    Arrival message;
    std::vector<std::byte> bytes;
  };
  using Asides = std::array<Aside, kEagerWindow>;

  bool find_room(std::size_t receives);
  [[nodiscard]] GroupId posted_before_arriving() const;
  // Where the group is, while it is open, and null afterwards. There must be slots.
  Group*& slot(GroupId group) { return open_[group.value & (open_.size() - 1)]; }
  [[nodiscard]] Group* slot(GroupId group) const { return open_[group.value & (open_.size() - 1)]; }
  // Returns a receive of a group that is open; null if there is none.
  [[nodiscard]] Receive* find(GroupId group, ReceiveIndex index) const;
  static Result<Receive*> claim(Receive& receive, const Arrival& piece);
  void finish(Group& group);
  Aside* aside(GroupId group, Aside::State state);
  Status deliver(Aside& aside);

  std::vector<Group*> open_;                    // a power of two, or empty
  std::vector<Group*> free_;                    // the one used last comes last
  std::vector<std::unique_ptr<Group>> groups_;  // all of them, which stay where they are
  std::unique_ptr<Asides> asides_;              // by group; null until the first message is set aside
  std::size_t room_ = 0;                        // of the next group, as make_room() has found it
  std::size_t arriving_ = 0;                    // of them
  GroupId next_, oldest_;       // that is posted next; that is open, or a complete one before it
  std::uint32_t receives_ = 0;  // that were posted in all
  std::size_t outstanding_ = 0;
  bool brings_large_ = true;
  Traffic traffic_;
};

}  // namespace tfabric::stripe
