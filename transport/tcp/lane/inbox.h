// The receives a comm has posted, and where each arriving chunk belongs.
//
// Receives are posted in groups (of one, unless max_recvs > 1); groups are numbered from 0 in posting
// order, and a chunk names its group and the receive within it. Chunks of one message may arrive on any
// flow, in any order; each byte arrives once. A group is complete when all bytes of all its messages are
// placed. Used with the engine held. Nothing is allocated after construction.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include "base/result.h"
#include "transport/tcp/lane/completion.h"
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
    std::uint32_t total = 0;   // size of the message, once its first chunk has arrived
    std::uint32_t placed = 0;  // bytes of it that are in place
    bool started = false;
    bool complete = false;
    std::uint32_t group = 0;
  };

  Inbox();

  // Posts the next group; its completion is finished when every message of it is in place. False: the
  // oldest posted group that is not complete is too far behind.
  bool post(std::span<const transport::ReceiveBuffer> buffers, Completion* completion);
  // The number the next posted group will have.
  [[nodiscard]] std::uint32_t next_group() const { return next_; }

  // Where a chunk goes. Null: its receive is not posted yet; the flow must wait. An error is the
  // peer's or the user's fault and final for the comm (a message longer than its buffer, another tag, a
  // group that was complete).
  Result<Receive*> find(const RecordHeader& chunk);
  // `n` more bytes of the message are in place; may complete the group. Also with n = 0 for a message of
  // no bytes.
  void placed(Receive& receive, std::uint32_t n);

  // Fails every group that is not complete. Nothing is placed after it.
  void fail();
  // True if a receive that is not complete would write into [data, data + size).
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

  Group& slot(std::uint32_t group) { return (*groups_)[group % kMaxGroups]; }
  void finish(Group& group);

  std::unique_ptr<std::array<Group, kMaxGroups>> groups_;
  std::uint32_t next_ = 0;
  std::size_t outstanding_ = 0;
};

}  // namespace tfabric::lane
