// Both ends of a comm over fake lanes: an Outbox and its Burials, an Inbox and its Graves, and between them
// what comm::SendComm and comm::RecvComm do to keep lanes, to say records and to hear them.
//
// Nothing happens by itself: each public function is one event. Lanes are numbered from 0 as they were
// opened. An event that cannot happen now returns false and changes nothing.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "tests/unit/stripe/fake_lane.h"
#include "transport/stripe/burial.h"
#include "transport/stripe/inbox.h"
#include "transport/stripe/outbox.h"

namespace tfabric::stripe {

// The rules of the comms' part, each of which a test may leave out.
struct Rules {
  bool asks = true;            // the sender deals again only what the receiver says is missing
  bool fences = true;          // the receiver takes nothing of a lane whose position it has told
  bool tells_all = true;       // over every living lane, not just over one
  bool repeats = true;         // over each lane that opens
  bool says_settled = true;    // the sender says that it has the answer
  bool settled_first = false;  // no rule: before or after it has used the answer
};

class TwoEnds final : private Ear {
 public:
  enum class End : std::uint8_t { opening, open, closed };
  struct Way {
    LaneSerial serial;
    LaneId id;  // the sender's
    End sender = End::opening, receiver = End::opening;
    FakeLane lane;
    std::deque<Note> back;  // said by the receiver, and not heard
    // The final position that the sender has used; nothing until then.
    std::optional<std::uint64_t> settled;
    [[nodiscard]] bool lives() const { return sender != End::closed && receiver != End::closed; }
  };

  TwoEnds(const OutboxOptions& options, std::uint32_t piece_bytes, const Rules& rules)
      : outbox(options),
        rules_(rules),
        piece_bytes_(piece_bytes),
        tells_posted_(options.waits_for_receives) {}

  // --- the sender's end
  // Opens a lane, whose hello is under way.
  void open();
  // Hands what there is to the lanes.
  bool pump();
  // Hands one piece to this lane.
  bool deal(std::size_t way);
  // Learns how far the lane has come.
  bool acknowledge(std::size_t way);
  // Takes the next record that the receiver has said.
  bool hear(std::size_t way);
  // Declares the lane dead.
  bool sender_closes(std::size_t way);

  // --- the receiver's end
  Result<bool> post(const transport::ReceiveBuffer& buffer, Completion* completion);
  bool deliver(std::size_t way, std::uint64_t bytes);
  bool receiver_closes(std::size_t way);

  // What is under way to the receiver of a lane that the sender has closed never arrives.
  bool lose(std::size_t way);

  [[nodiscard]] std::size_t ways() const { return ways_.size(); }
  [[nodiscard]] const Way& way(std::size_t number) const { return *ways_[number]; }
  [[nodiscard]] Way& way(std::size_t number) { return *ways_[number]; }
  [[nodiscard]] bool any_lives() const;
  // All groups before these are posted, as the receiver has said last, and as the sender has heard.
  [[nodiscard]] GroupId told() const { return told_; }
  [[nodiscard]] GroupId heard() const { return heard_; }
  // What has gone wrong; empty if nothing has.
  [[nodiscard]] const std::string& broken() const { return broken_; }
  // For each range of a message's bytes that arrives.
  void watch(Ear& watcher) { watcher_ = &watcher; }

  Outbox outbox;
  Burials burials;
  Inbox inbox;
  Graves graves;

 private:
  Status on_note(const Note& note) override;
  void on_bytes(const Arrival& piece, std::uint32_t offset, std::span<const std::byte> bytes) override;

  [[nodiscard]] LaneId free_id() const;
  [[nodiscard]] std::vector<Outlet> outlets();
  void say(const Note& note);
  void bury(Way& way);
  void on_welcome(Way& way);
  void on_buried(const Note& note);
  void settle(const Burials::Settlement& settlement, const Note& note);

  void tell(const Note& note);
  void tell_posted();
  void on_hello(Way& way);
  void on_bury(LaneSerial serial);
  void dig(Way& way);

  Way* find(LaneSerial serial);
  void expect(const Status& status);

  Rules rules_;
  std::uint32_t piece_bytes_;
  bool tells_posted_;
  std::vector<std::unique_ptr<Way>> ways_;
  std::uint32_t last_serial_ = 0;
  Way* arriving_ = nullptr;  // the lane whose bytes the receiver takes
  GroupId told_, heard_;
  Ear* watcher_ = nullptr;
  std::string broken_;
};

}  // namespace tfabric::stripe
