// A lane over a pair (pair.h): pieces are written to their places by the adapter, and what is said lies in
// notices. Positions count immediates, of either direction for itself.
//
// The sender's end needs to know where a receive is before it takes a piece of a message
// (lane/announcements.h). What a pair carries was written before the receiver looks at it, so that its comm
// cannot refuse it first; the fence takes the place of that: after it, nothing more is written.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "transport/lane/announcements.h"
#include "transport/lane/offers.h"
#include "transport/rdma/pairs/pair.h"

namespace tfabric::rdma::pairs {

class PortCarrier;

// How a carrier's adapter reads what is sent.
class LocalMemory {
 public:
  // The key of registered memory; nothing if it is not registered there, or null.
  [[nodiscard]] virtual std::optional<std::uint32_t> key_of(const lane::RegisteredMemory* memory) const = 0;

 protected:
  ~LocalMemory() = default;
};

class PairLane final : public lane::OfferedLane, private PairUser {
 public:
  // Of a piece: a quick port completes it long before silence makes the pair suspicious.
  static constexpr std::uint32_t kMostBytes = 8u << 20;

  // What one end has to know.
  struct Ends {
    // At the sender's end: what its comm knows of receives, and the number of the receiver's rail among their
    // keys.
    lane::AnnouncedReceives* announced = nullptr;
    std::size_t rail = 0;
    std::optional<PairEnd> offer;  // at the receiver's end
  };
  // The carrier, and what is announced, outlive the lane.
  PairLane(PortCarrier& carrier, std::shared_ptr<Pair> pair, const Ends& ends);
  ~PairLane() override;

  // --- lane::OfferedLane
  [[nodiscard]] bool take_brought() override TF_IN_TURN { return std::exchange(brought_, false); }
  [[nodiscard]] std::span<const std::byte> text() const override TF_IN_TURN;
  Status on_answer(std::span<const std::byte> answer) override TF_IN_TURN;
  [[nodiscard]] bool is_ready() const override TF_IN_TURN { return pair_->is_ready(); }

  // How many immediates have come.
  [[nodiscard]] std::uint64_t taken() const { return pair_->taken(); }

  // --- lane::Lane
  void attach(lane::LaneEvents& events, lane::ControlSink& control, stripe::Inbox* inbox) override TF_IN_TURN;
  [[nodiscard]] engine::Carrier& carrier() const override;
  [[nodiscard]] std::string remote() const override TF_IN_TURN;
  [[nodiscard]] engine::FlowAccount* account() const override TF_IN_TURN { return nullptr; }

  [[nodiscard]] stripe::LaneRoom look(const stripe::Outgoing& message) const override TF_IN_TURN;
  std::optional<stripe::Span> give(const stripe::Piece& piece) override TF_IN_TURN;
  void flush() override TF_IN_TURN;
  bool say(std::span<const std::byte> record) override TF_IN_TURN;
  bool announce(const lane::AnnouncementBlock& block, std::uint32_t number) override TF_IN_TURN;
  [[nodiscard]] std::uint64_t confirmed() const override TF_IN_TURN { return pair_->confirmed(); }
  [[nodiscard]] std::uint64_t given() const override TF_IN_TURN {
    return pair_->given() + (batch_.count > 0 ? 1 : 0);
  }
  [[nodiscard]] bool awaits_peer() const override TF_IN_TURN { return confirmed() < given(); }
  [[nodiscard]] bool is_drained() const override TF_IN_TURN { return !has_waiting() && !awaits_peer(); }
  [[nodiscard]] std::uint64_t answered() const override TF_IN_TURN { return pair_->credited(); }

  void report() override TF_IN_TURN;
  bool on_report(std::uint64_t /*position*/) override TF_IN_TURN { return false; }  // its credit says it
  [[nodiscard]] bool is_finished() const override TF_IN_TURN { return quiet_; }
  [[nodiscard]] bool has_brought_all() const override TF_IN_TURN { return is_finished(); }
  [[nodiscard]] bool is_mid_record() const override TF_IN_TURN { return false; }
  // What has come is taken until the fence is through.
  bool drain() override TF_IN_TURN { return false; }

  [[nodiscard]] bool moves_memory() const override TF_IN_TURN { return !pair_->is_fenced(); }

  [[nodiscard]] std::uint32_t timeouts_in_row() const override TF_IN_TURN;
  [[nodiscard]] std::uint32_t probes_unanswered() const override TF_IN_TURN;
  [[nodiscard]] Instant progressed_at() const override TF_IN_TURN { return pair_->progressed_at(); }
  [[nodiscard]] Instant heard_at() const override TF_IN_TURN { return pair_->progressed_at(); }
  [[nodiscard]] Duration round_trip() const override TF_IN_TURN { return Duration::zero(); }
  [[nodiscard]] bool is_connecting() const override TF_IN_TURN { return !pair_->is_ready(); }
  [[nodiscard]] bool lacks_neighbour() const override TF_IN_TURN { return false; }
  void retry(Instant /*now*/) override TF_IN_TURN {}  // when to send again is the adapter's business
  void forgive(Duration pause, Instant now) override TF_IN_TURN;
  [[nodiscard]] lane::Meters meters() const override TF_IN_TURN;
  [[nodiscard]] lane::Loss loss(bool in_use, Instant now) const override TF_IN_TURN;
  [[nodiscard]] std::string describe(Silence silence, bool in_use, Instant now) const override TF_IN_TURN;

  // --- for its carrier, once in a turn
  void on_turn() TF_IN_TURN;
  // Returns false if it awaits nothing any more.
  bool on_tick() TF_IN_TURN;
  void on_round(Instant now) TF_IN_TURN;
  void on_link_away() TF_IN_TURN;

 private:
  void on_made() override TF_IN_TURN;
  void on_ready() override TF_IN_TURN;
  void on_immediate(std::uint32_t immediate, std::uint32_t bytes) override TF_IN_TURN;
  void on_news() override TF_IN_TURN;
  void on_room() override TF_IN_TURN;
  void on_failed(std::string why, bool silent) override TF_IN_TURN;
  void on_fenced() override TF_IN_TURN;

  [[nodiscard]] std::string label() const override TF_IN_TURN;
  void finish() override TF_IN_TURN { pair_->close(); }
  void reset(std::string_view /*reason*/) override TF_IN_TURN { pair_->close(); }
  std::optional<std::uint64_t> begin_fence() override TF_IN_TURN;
  void connect(const PairEnd& there) TF_IN_TURN;
  void note();
  void post() TF_IN_TURN;
  void watch() TF_IN_TURN;
  [[nodiscard]] Duration patience() const TF_IN_TURN;
  void count_confirmed();
  // What look() has found of a message, for the give() that follows.
  struct Sight {
    const stripe::Outgoing* message = nullptr;
    std::optional<lane::AnnouncedReceives::Place> place;  // where it goes, if that is known
    std::optional<std::uint32_t> key;                     // of its memory; nothing: it cannot be read
    bool has_room = false;
  };
  // For an immediate, and so many work requests. Remembers that there was none.
  [[nodiscard]] bool has_room(std::uint32_t works) const;
  [[nodiscard]] bool joins_batch(const stripe::Piece& piece,
                                 const lane::AnnouncedReceives::Place& place) const;
  void close_batch() TF_IN_TURN;
  [[nodiscard]] bool takes_whole(const stripe::Piece& piece,
                                 const lane::AnnouncedReceives::Place& place) const;

  // Each takes what has arrived. If the peer has sent something malformed, it fails the comm and returns
  // false.
  bool take(const Immediate& immediate, std::uint32_t bytes) TF_IN_TURN;
  bool take_piece(const Descriptor& piece) TF_IN_TURN;
  bool take_whole(stripe::GroupId group, stripe::ReceiveIndex index, std::uint32_t bytes) TF_IN_TURN;
  bool take_batch(const Batch& batch) TF_IN_TURN;
  bool take_record(const Notice& notice) TF_IN_TURN;
  bool take_claimed(const Result<stripe::Inbox::Receive*>& receive, stripe::GroupId group,
                    std::uint32_t bytes) TF_IN_TURN;
  [[gnu::cold]] bool wrong(const Error& why) TF_IN_TURN;
  [[gnu::cold]] bool wrong(std::string_view what) TF_IN_TURN;

  PortCarrier* carrier_;
  std::shared_ptr<Pair> pair_;
  Ends ends_;
  PairEndBytes text_{};
  lane::LaneEvents* events_ = nullptr;
  lane::ControlSink* control_ = nullptr;
  stripe::Inbox* inbox_ = nullptr;
  engine::PeerTraffic* traffic_ = nullptr;  // with its peer, once that is known
  std::string remote_;                      // its address
  Batch batch_;                             // that is open: its data is staged, and nothing behind it
  std::uint32_t batch_bytes_ = 0;
  std::uint32_t batch_of_ = 0;         // the group's receives
  std::deque<std::uint32_t> lengths_;  // by position, of what is not confirmed; of a record 0
  std::uint64_t queued_ = 0, delivered_ = 0, counted_ = 0;
  mutable Sight sight_;
  std::string why_;  // it has failed
  bool made_ = false, answered_ = false, noted_ = false, news_ = false, failed_ = false, silent_ = false,
       watched_ = false, brought_ = false;
  bool left_ = false, quiet_ = false;   // the peer has left; and all that had come is taken
  std::optional<std::uint64_t> asked_;  // the position behind a question, which the peer's credit answers
  std::uint32_t refusals_ = 0;          // of the comm, when it was probed last
  // Its comm is to hear of the next completion, whatever it is of: there was no room, or it took too long.
  mutable bool expected_ = false;
};

}  // namespace tfabric::rdma::pairs
