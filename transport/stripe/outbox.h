// The messages that a comm has to send: how each is cut into pieces, over which lane each piece goes, and
// when the message is done.
//
// A message is done when NCCL may use its buffer again: a small one when it is copied (copy_pool.h), another
// one when all its lines are confirmed, since a lane may read it until then. What a dead lane has not
// delivered is dealt again, before anything new, once both ends know how far it came (burial.h). A message
// whose receive is not known to be posted is dealt only if it is small (message.h, kMaxEagerBytes), and those
// behind it wait with it. Not thread-safe. After construction, memory is allocated only for lanes that are
// added, and when a lane dies.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "base/result.h"
#include "transport/stripe/copy_pool.h"
#include "transport/stripe/dealer.h"
#include "transport/stripe/lane.h"
#include "transport/stripe/ledger.h"
#include "transport/stripe/message.h"
#include "transport/transport.h"

namespace tfabric::stripe {

struct OutboxOptions {
  std::uint32_t eager_bytes = kMaxEagerBytes;
  // False if messages go only to receives that the peer has announced one by one: these are posted.
  bool waits_for_receives = true;
  CopyPool* copies = nullptr;  // null: no message is copied
};

class Outbox {
 public:
  static constexpr std::size_t kMaxMessages = transport::kMaxRequests;

  explicit Outbox(const OutboxOptions& options);
  ~Outbox();
  Outbox(const Outbox&) = delete;
  Outbox& operator=(const Outbox&) = delete;

  // Returns true if no further message can be queued.
  [[nodiscard]] bool full() const { return next_ - front_ == kMaxMessages; }
  // Queues a message, unless it is full; `completion` is finished when it is done, which may be at once.
  void post(const Outgoing& outgoing, Completion* completion);
  // The receives of all groups before this one are posted.
  void allow(GroupId posted);
  // Hands as much as fits to the lanes. `outlets[i]` is lane i of the comm; one that gets a piece is to be
  // probed no more. Returns true if anything was handed over.
  bool pump(std::span<Outlet> outlets) { return (cut_ != next_ || !gaps_.empty()) && pump_some(outlets); }
  // Returns the message of which the next piece is; null: all are dealt.
  [[nodiscard]] const Outgoing* next_to_deal() const {
    const std::uint32_t number = gaps_.empty() ? cut_ : gaps_.back().message;
    return gaps_.empty() && cut_ == next_ ? nullptr : &messages_[number % kMaxMessages].what;
  }
  // Returns true if the next message waits for the peer to say that its receive is posted.
  [[nodiscard]] bool waits_for_receive() const {
    return options_.waits_for_receives && cut_ != next_ && gaps_.empty() &&
           !may_deal(messages_[cut_ % kMaxMessages]);
  }
  // Returns the receive that it waits for so behind a small message: the peer may not know that it is to say
  // so.
  [[nodiscard]] std::optional<GroupId> waits_behind_small() const;
  // Finishes the messages that are complete now that everything before `position` of the lane is there.
  void on_confirmed(LaneId lane, std::uint64_t position);
  // The lane is closed at both ends, and `position` is all that the receiver has ever taken of it: what is
  // missing will be dealt again. An error means that data which was confirmed, and so may be overwritten
  // here, has not arrived: the comm cannot go on.
  Status settle(LaneId lane, std::uint64_t position);

  // Fails every message that is not done. Copies are kept, since a driver may still read them.
  void fail();
  // Returns true if all of every message is on lanes.
  [[nodiscard]] bool is_dealt() const { return cut_ == next_ && gaps_.empty(); }
  // Before the end, one of: the copies of what is not confirmed go back to their pool; or lanes go on reading
  // them, and they are not used again.
  void drop_copies();
  void leave_copies();
  // Returns true if a message that is not done reads from [data, data + size).
  [[nodiscard]] bool uses(const void* data, std::size_t size) const;
  // Messages that are not confirmed, and of these those that are not done.
  [[nodiscard]] std::size_t outstanding() const { return unconfirmed_; }
  [[nodiscard]] std::size_t undone() const { return undone_; }
  [[nodiscard]] const Traffic& traffic() const { return traffic_; }
  // Returns true if bytes are on lanes, or were on one that is dead, and are not confirmed.
  [[nodiscard]] bool awaits_confirmation() const;
  // Grows whenever some are.
  [[nodiscard]] std::uint64_t confirmations() const { return confirmations_; }
  // Returns true if all pieces on the lane are confirmed or settled: another lane may get its number.
  [[nodiscard]] bool drained(LaneId lane) const {
    return lane.value >= ledgers_.size() || ledgers_[lane.value].empty();
  }
  // Another lane gets this number, whose lane is gone and drained.
  void renew(LaneId lane);
  // Bytes that were given to lanes which did not deliver them: they are dealt again, to others.
  [[nodiscard]] std::uint64_t dealt_again() const { return dealt_again_; }

 private:
  struct Message {
    Outgoing what;
    std::uint32_t cut = 0;             // bytes handed to lanes
    std::uint32_t lines_left = 0;      // not yet confirmed
    Completion* completion = nullptr;  // null: done
    std::byte* copy = nullptr;         // where `what` is, if it was copied
    [[nodiscard]] const std::byte* data() const { return static_cast<const std::byte*>(what.data); }
  };

  Message& at(std::uint32_t number) { return messages_[number % kMaxMessages]; }
  [[nodiscard]] bool may_deal(const Message& message) const;
  bool pump_some(std::span<Outlet> outlets);
  bool deal_new(std::span<Outlet> outlets);
  bool deal_gap(std::span<Outlet> outlets);
  std::optional<std::uint32_t> deal(const Ledger::Gap& part, std::span<Outlet> outlets);
  void lines_there(std::uint32_t number, std::uint32_t lines);
  bool copy(Message& message);
  void done(Message& message, Completion::State state);
  void drop_copy(Message& message);

  OutboxOptions options_;
  Dealer dealer_;
  std::vector<Message> messages_;
  std::vector<Ledger> ledgers_;    // by LaneId
  std::vector<Ledger::Gap> gaps_;  // the next one last
  GroupId posted_;
  std::uint32_t front_ = 0;  // number of the oldest message that is not confirmed
  std::uint32_t next_ = 0;   // number of the next message to be posted
  std::uint32_t cut_ = 0;    // number of the oldest message that is not wholly handed to lanes
  std::size_t unconfirmed_ = 0, undone_ = 0;  // messages
  std::uint64_t dealt_again_ = 0, confirmations_ = 0;
  Traffic traffic_;
};

}  // namespace tfabric::stripe
