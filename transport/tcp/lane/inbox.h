// The receives that a comm has posted, and the place of each arriving piece.
//
// Receives are posted in groups (of one, unless max_recvs > 1), and a piece names its group and the receive
// within it. Pieces of one message may arrive on any flow, in any order, and each byte exactly once: a piece
// that contradicts this is an error of the peer and ends the comm. A group is complete when all bytes of all
// its messages are placed. Used with the engine held. Memory is allocated after construction only while
// pieces of a message arrive out of order on several flows, and is kept then.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include "base/result.h"
#include "transport/tcp/lane/message.h"
#include "transport/tcp/lane/place.h"
#include "transport/tcp/lane/record.h"
#include "transport/transport.h"

namespace tfabric::lane {

class Inbox {
 public:
  // Groups that may be posted and not complete at once.
  static constexpr std::size_t kMaxGroups = transport::kMaxRequests;

  struct Receive {
    std::byte* data = nullptr;
    std::size_t capacity = 0;
    std::uint32_t tag = 0;
    std::uint32_t total = 0;   // size of the message, known once its first piece has arrived
    std::uint32_t placed = 0;  // bytes of it that are in place
    bool complete = false;
    GroupId group;
    Coverage coverage;
  };

  Inbox();

  // Posts the next group; its completion is finished when every message of it is in place. Returns false if
  // the group that was posted kMaxGroups before it is not complete yet.
  bool post(std::span<const transport::ReceiveBuffer> buffers, Completion* completion);
  // The number that the next posted group will have.
  [[nodiscard]] GroupId next_group() const { return next_; }

  // Claims the piece's bytes and returns the receive that they belong to; null if it is not posted yet, and
  // the flow has to wait. An error is the peer's or the user's fault and final for the comm: a message longer
  // than its buffer, another tag, a receive that the group does not have, bytes that were claimed before.
  Result<Receive*> claim(const RecordHeader& piece);
  // Reports that `n` more claimed bytes of the message are in place, which may complete the group. A message
  // of no bytes is reported with n = 0.
  void placed(Receive& receive, std::uint32_t n);

  // Fails every group that is not complete. Nothing may be placed after it.
  void fail();
  // Returns true if a receive that is not complete would write into [data, data + size).
  [[nodiscard]] bool uses(const void* data, std::size_t size) const;
  [[nodiscard]] std::size_t outstanding() const { return outstanding_; }

 private:
  struct Group {
    std::array<Receive, transport::kMaxGroupedReceives> receives;
    std::uint8_t count = 0;
    std::uint8_t complete = 0;
    bool open = false;
    Completion* completion = nullptr;
  };

  Group& slot(GroupId group) { return (*groups_)[group.value % kMaxGroups]; }
  void finish(Group& group);

  std::unique_ptr<std::array<Group, kMaxGroups>> groups_;
  GroupId next_;
  std::size_t outstanding_ = 0;
};

}  // namespace tfabric::lane
