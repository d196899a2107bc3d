// A lane as its comm knows it: pieces are dealt to it (stripe/lane.h), records are said on it, it is buried,
// and asked how it is. Nothing here names a kind of network: the verbs do what differs, and the carrier's
// traits (engine/carrier.h) say what a comm has to know of it.
//
// A lane is open from the start. It ends by close(), leave() or abort(), or because it is lost; then nothing
// of it comes up any more, and what it was called, and what it has brought, can still be asked for.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/time.h"
#include "transport/engine/carrier.h"
#include "transport/engine/turn.h"
#include "transport/lane/flow_reader.h"
#include "transport/lane/meters.h"
#include "transport/stripe/inbox.h"
#include "transport/stripe/lane.h"
#include "transport/stripe/message.h"

namespace tfabric::engine {
class FlowAccount;
}

namespace tfabric::lane {

class Lane;
struct AnnouncementBlock;

// What has ended a lane.
struct Loss {
  std::string why;            // for messages, without the lane's name
  std::string reason;         // in the words of the peer's comm, if it has ended the lane
  bool timed_out = false;     // nothing was heard for too long
  bool refused = false;       // the peer's host takes no connection at that port
  bool process_over = false;  // the carrier knows that the peer's process has ended
  // When the peer was last heard, if the lane ended by a time-out or an unreachable peer; otherwise, or if
  // that is not known, zero.
  Instant silent_since{};
};

// The user of a lane: a comm, or who has it before there is one. It may end lanes.
class LaneEvents {
 public:
  // Something has changed: the connection is there, something was confirmed, there is room, or the peer has
  // closed its end. At most once for each lane in a turn.
  virtual void on_progress(Lane& lane) TF_IN_TURN = 0;
  // What has come on the lane is wrong, for this reason. Nothing more is taken of it.
  virtual void on_fault(Lane& lane, const Error& why) TF_IN_TURN = 0;
  // The lane has failed: see loss(). It must be shut(). What it counts is valid until this returns.
  virtual void on_lost(Lane& lane) TF_IN_TURN = 0;
  // What Lane::fence() has begun is through, and this is the lane's final position.
  virtual void on_fenced(Lane& /*lane*/, std::uint64_t /*position*/) TF_IN_TURN {}
  // The carrier has no link any more; the lane goes on, and what is on its way counts as lost.
  virtual void on_away(Lane& /*lane*/) TF_IN_TURN {}
  // The number of the user on the page (observe/); 0: it has none.
  [[nodiscard]] virtual std::uint64_t shown_id() const TF_IN_TURN { return 0; }

 protected:
  ~LaneEvents() = default;
};

class Lane : public stripe::Lane {
 public:
  virtual ~Lane() = default;
  Lane(const Lane&) = delete;
  Lane& operator=(const Lane&) = delete;

  // Whom it tells what happens, who takes the records that come, and where pieces go (null: they are wrong).
  virtual void attach(LaneEvents& events, ControlSink& control, stripe::Inbox* inbox) TF_IN_TURN = 0;
  // It is one of a comm's. `direction`: the comm's, for messages.
  void enter(stripe::LaneId id, stripe::LaneSerial serial, const char* direction) TF_IN_TURN {
    id_ = id;
    serial_ = serial;
    direction_ = direction;
    rename();
  }
  [[nodiscard]] stripe::LaneId id() const { return id_; }
  [[nodiscard]] stripe::LaneSerial serial() const { return serial_; }
  // For messages.
  [[nodiscard]] const std::string& name() const { return name_; }
  [[nodiscard]] bool is_open() const TF_IN_TURN { return open_; }
  // Both ends have shown that they are the comm's: it carries from now on, while it is open.
  void join() TF_IN_TURN { joined_ = true; }
  [[nodiscard]] bool carries() const TF_IN_TURN { return open_ && joined_; }
  [[nodiscard]] virtual engine::Carrier& carrier() const = 0;
  [[nodiscard]] const engine::Traits& traits() const { return carrier().traits(); }
  // The peer's, for messages.
  [[nodiscard]] virtual std::string remote() const TF_IN_TURN = 0;
  // What is shown of it (observe/); null: nothing.
  [[nodiscard]] virtual engine::FlowAccount* account() const TF_IN_TURN = 0;
  // Until the peer has proved who it is, the lane must cost no memory for it. Initially it is trusted.
  virtual void trust(bool /*trusted*/) TF_IN_TURN {}
  // As engine::Flow has them.
  [[nodiscard]] virtual std::uint16_t port_here() const TF_IN_TURN { return 0; }
  [[nodiscard]] virtual std::uint16_t port_there() const TF_IN_TURN { return 0; }
  virtual void set_direct() TF_IN_TURN {}
  // Something has happened to it: its last packets are kept (engine::FlowAccount).
  [[gnu::cold]] void keep(std::string_view why) const TF_IN_TURN;

  // --- what is sent
  // What was given goes out in this turn.
  virtual void flush() TF_IN_TURN = 0;
  // Sends a control record. Returns false if there is no room now.
  virtual bool say(std::span<const std::byte> record) TF_IN_TURN = 0;
  // Announces the group of receives whose first one has this number (announcements.h). Returns false if there
  // is no room now.
  virtual bool announce(const AnnouncementBlock& block, std::uint32_t number) TF_IN_TURN;
  [[nodiscard]] bool can_say(std::size_t record_bytes) const {
    return record_bytes <= traits().largest_record;
  }
  // Says a record that it can say, as soon as there is room, behind those that wait already.
  void tell(std::vector<std::byte> record) TF_IN_TURN;
  void tell_waiting() TF_IN_TURN {
    if (has_waiting()) {
      say_waiting();
    }
  }
  [[nodiscard]] bool has_waiting() const TF_IN_TURN { return !waiting_.empty(); }
  // Asks, once for each number of a doubt, for anything that only the peer's process can answer. Returns true
  // if it has.
  bool ask(std::uint32_t doubt) TF_IN_TURN;
  // The position up to which the peer's process has shown that it has everything, and not its kernel alone.
  [[nodiscard]] virtual std::uint64_t answered() const TF_IN_TURN = 0;
  // The position up to which the peer has everything, and the one behind what was given.
  [[nodiscard]] virtual std::uint64_t confirmed() const TF_IN_TURN = 0;
  [[nodiscard]] virtual std::uint64_t given() const TF_IN_TURN = 0;
  // Returns true if the peer is to confirm something.
  [[nodiscard]] virtual bool awaits_peer() const TF_IN_TURN = 0;
  // Returns true if all that was said has arrived, as far as that is confirmed.
  [[nodiscard]] virtual bool is_drained() const TF_IN_TURN = 0;

  // --- what comes
  // Tells the peer what has come, or was read, as far as it needs that: at once if it waits for it, else in a
  // moment.
  virtual void report() TF_IN_TURN = 0;
  // The peer has read so much. Returns false if that cannot be.
  virtual bool on_report(std::uint64_t position) TF_IN_TURN = 0;
  // The peer says that it closes the lane in order.
  void on_leaving() TF_IN_TURN { leaving_ = true; }
  // Returns true if the peer has closed its end, and all that came before has been taken.
  [[nodiscard]] virtual bool is_finished() const TF_IN_TURN = 0;
  // Of a lane that is finished: returns true if the peer's comm has closed it, false if a kernel or a
  // middlebox may have.
  [[nodiscard]] bool is_closed_in_order() const TF_IN_TURN { return leaving_ || traits().end_means_closed; }
  // Of a lane that is lost: returns true if it has brought all that the peer has ever sent.
  [[nodiscard]] virtual bool has_brought_all() const TF_IN_TURN = 0;
  // Returns true in the middle of a record.
  [[nodiscard]] virtual bool is_mid_record() const TF_IN_TURN = 0;
  // Of a lane that is lost, or shut and about to be aborted: takes some of what had come and was not taken
  // yet, which the peer may know to have arrived. Returns false if that is all.
  virtual bool drain() TF_IN_TURN = 0;
  // Of a lane that is shut, once: it is to bring nothing more, whatever still comes, and to read nothing more
  // of what it was given. Returns its final position, for the sender; nothing if that takes a while, in which
  // memory may still be written and read: then LaneEvents::on_fenced() has it.
  std::optional<std::uint64_t> fence() TF_IN_TURN {
    const auto position = begin_fence();
    fencing_ = !position;
    return position;
  }
  // Of a lane that has ended: returns true while it may still read or write the memory of messages.
  [[nodiscard]] virtual bool moves_memory() const TF_IN_TURN { return false; }
  // Returns true until on_fenced(): its number belongs to no other lane before.
  [[nodiscard]] bool is_fencing() const TF_IN_TURN { return fencing_; }

  // --- how it is
  // Returns how often something was sent again after a time-out since anything was last confirmed.
  [[nodiscard]] virtual std::uint32_t timeouts_in_row() const TF_IN_TURN = 0;
  // Returns how many probes of an idle lane, or of a peer without room, were left unanswered in a row.
  [[nodiscard]] virtual std::uint32_t probes_unanswered() const TF_IN_TURN = 0;
  // When something was confirmed, or came in order, last; when anything of the peer was heard last.
  [[nodiscard]] virtual Instant progressed_at() const TF_IN_TURN = 0;
  [[nodiscard]] virtual Instant heard_at() const TF_IN_TURN = 0;
  [[nodiscard]] virtual Duration round_trip() const TF_IN_TURN = 0;
  // Returns true until the connection is there.
  [[nodiscard]] virtual bool is_connecting() const TF_IN_TURN = 0;
  // Returns true if the neighbour on the way is known not to answer.
  [[nodiscard]] virtual bool lacks_neighbour() const TF_IN_TURN = 0;
  // If something waits for its confirmation, sends it again now, where Traits::retries_at_once says so.
  virtual void retry(Instant now) TF_IN_TURN = 0;
  // The process did not run for this time, until now.
  virtual void forgive(Duration pause, Instant now) TF_IN_TURN = 0;
  [[nodiscard]] virtual Meters meters() const TF_IN_TURN = 0;

  // --- its end
  // In LaneEvents::on_lost(): what has ended it. `in_use`: its comm's first connection has been made; until
  // then other limits hold.
  [[nodiscard]] virtual Loss loss(bool in_use, Instant now) const TF_IN_TURN = 0;
  // Returns what is to be said of it if it is given up now.
  enum class Silence : std::uint8_t { timed_out, unreachable };
  [[nodiscard]] virtual std::string describe(Silence silence, bool in_use, Instant now) const TF_IN_TURN = 0;
  // It is lost: nothing is sent on it any more.
  void shut() TF_IN_TURN {
    open_ = false;
    waiting_.clear();
  }
  // What is queued still goes out. leave(): so that the peer knows that this comm goes on without the lane.
  void close() TF_IN_TURN {
    shut();
    finish();
  }
  void leave() TF_IN_TURN;
  // At once. The peer learns the reason, if there is one.
  void abort(std::string_view reason = {}) TF_IN_TURN;

 protected:
  Lane() = default;
  // Returns how it is named, without the direction.
  [[nodiscard]] virtual std::string label() const TF_IN_TURN = 0;
  // What close() and abort() do to a lane that is shut. reset(): the reason goes along where
  // Traits::reset_says_why says so.
  virtual void finish() TF_IN_TURN = 0;
  virtual void reset(std::string_view reason) TF_IN_TURN = 0;
  // What fence() says. If it takes a while, calls fenced() once it is through.
  virtual std::optional<std::uint64_t> begin_fence() TF_IN_TURN = 0;
  void fenced(LaneEvents& events, std::uint64_t position) TF_IN_TURN {
    fencing_ = false;
    events.on_fenced(*this, position);
  }
  void rename() TF_IN_TURN;

 private:
  void say_waiting() TF_IN_TURN;

  stripe::LaneId id_;
  stripe::LaneSerial serial_;
  const char* direction_ = "";
  std::string name_;
  std::vector<std::vector<std::byte>> waiting_;  // records
  std::uint32_t doubt_ = 0;                      // for which it was asked last
  std::uint64_t asked_ = 0;                      // the position behind that question
  bool open_ = true;
  bool joined_ = false;
  bool leaving_ = false;
  bool fencing_ = false;
};

}  // namespace tfabric::lane
