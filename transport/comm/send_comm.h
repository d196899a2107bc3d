// The sending end of a comm.
//
// It has one or more lanes on each of its routes: as many as the route's path says, which may change while
// the comm is in use. A lane that joins names the comm in its hello and gets pieces once it is welcomed; a
// lane that leaves gets no more pieces, and is closed when everything sent on it has been acknowledged. A
// lane that dies is buried (stripe/burial.h), and its route is dialled again for as long as the comm lives.
#pragma once

#include <array>
#include <optional>
#include <string>

#include "base/random.h"
#include "transport/comm/comm_core.h"
#include "transport/engine/turn.h"
#include "transport/flows/path.h"
#include "transport/flows/send_flows.h"
#include "transport/lane/announcements.h"
#include "transport/session/hello.h"
#include "transport/session/lane_opening.h"
#include "transport/session/pairing.h"
#include "transport/stripe/outbox.h"

namespace tfabric::comm {

// One of our rails with one of the peer's, between which the comm has lanes.
struct SendRoute {
  session::RouteClass rank = session::RouteClass::own;
  std::uint64_t carrier = 0;  // its number; the carrier may be gone
  std::uint16_t rail_number = 0;
  net::IpAddress remote;
  std::uint16_t port = 0;
  std::shared_ptr<flows::Path> path;
  std::uint32_t wanted = 1;       // lanes
  Instant next_try{};             // before this, no further lane is opened
  Duration pause = kFirstPause;   // from a loss to the next try
  std::optional<Instant> joined;  // when a lane was last welcomed
  bool away = false;              // there was no link when it was last tried
  std::uint64_t changes = 0;      // the carrier's, when it was last tried or joined
  bool told = false;              // since then the peer has said its rails, which may have come back
  bool tried = false;             // a lane was opened, or was to be
  bool awake = false;             // the path measures what is sent
  bool spare = false;             // one of its rails has another route of the class: one host has more rails
  bool met = false;               // a lane has been welcomed
  bool waived = false;            // it was due when lanes were scarce, and the comm had one elsewhere
  // Its lanes are opened by offers, over a rail of that number (context.h); and which of the peer's it meets,
  // once the peer has named its own.
  bool by_offer = false;
  std::optional<lane::RailMeeting> meets;
  // Offers go over it, so it has a lane always; pieces only when its class carries.
  bool always = false;
  flows::FlowJudge judge;

  // The pause doubles with each lane that is lost or cannot join, from the first up to the last, and begins
  // anew after a lane has lived for kStable. A fifth of it, more or less, is random, so that the comms of a
  // job do not dial all at once. The last pause is a part of the comm's patience: a sender that has nothing
  // to send does not notice that its only lane is dead, and the receiver, which cannot dial, must get another
  // one before its patience is over.
  static constexpr Duration kFirstPause = std::chrono::milliseconds(100);
  static constexpr Duration kLastPause = std::chrono::seconds(30);
  static constexpr int kPausesInPatience = 4;
  static constexpr Duration kStable = std::chrono::seconds(10);
  // While no lane is left, the next try is never later than this.
  static constexpr Duration kUrgentPause = std::chrono::milliseconds(200);
  void back_off(Instant now, Duration patience);
  // Another comm tries for this one. The times are random, so that after its success not all dial at once.
  void wait_for_turn(Instant now);
};

// Counts of a comm's lanes, since it was opened.
struct LaneCounters {
  std::uint64_t joined = 0, left = 0, refused = 0;  // while the comm was in use; refused: could not join
  std::uint64_t distrusted = 0;
  std::uint64_t buried = 0;
};

class SendComm final : public transport::SendComm,
                       public CommCore,
                       public flows::PathUser,
                       private session::LaneOpening::Opener {
 public:
  // `hello` is without a lane's numbers, and has the comm's nonce. `max_recvs` is the receiver's, from its
  // handle: if it is above 1, messages go only to receives that the receiver has announced. Construct with
  // the engine held.
  SendComm(const Context& context, const session::Hello& hello, std::uint8_t max_recvs,
           std::vector<SendRoute> routes);
  ~SendComm() override;

  Result<transport::Request*> isend(const void* data, std::size_t size, int tag,
                                    transport::MemoryRegion* region) override;
  Result<transport::MemoryRegion*> register_memory(void* data, std::size_t size,
                                                   transport::MemoryKind kind) override {
    return register_region({.data = data, .size = size, .kind = kind, .dmabuf = {}});
  }
  Result<transport::MemoryRegion*> register_dmabuf(void* data, std::size_t size, transport::MemoryKind kind,
                                                   std::uint64_t offset, int fd) override {
    return register_region({.data = data, .size = size, .kind = kind, .dmabuf = {{offset, fd}}});
  }
  Status deregister_memory(transport::MemoryRegion* region) override { return deregister_region(region); }

  // --- engine's side, while connecting
  // Opens the lanes that the comm begins with: those of its lowest class. A route whose carrier cannot is
  // left out, and tried again later. Returns one of them if there is no other; else nothing.
  std::optional<stripe::RouteId> open_lanes() TF_IN_TURN;
  // Opens a lane. Returns false if the route's carrier cannot.
  bool open_lane(stripe::RouteId route) TF_IN_TURN;
  // Returns true once NCCL can have the comm: a lane is welcomed, and if others are opened by offers, one of
  // them carries, or none will soon. The others join when they can.
  [[nodiscard]] bool ready() const { return ready_.load(std::memory_order_acquire); }
  // Returns true once the listener has welcomed a lane.
  [[nodiscard]] bool welcomed() const { return welcomed_.load(std::memory_order_acquire); }
  [[nodiscard]] const LaneCounters& counters() const TF_IN_TURN { return counters_; }
  // How many lanes the route has that are open or opening.
  [[nodiscard]] std::uint32_t lanes(stripe::RouteId route) const TF_IN_TURN { return book_.count(route); }
  // Bytes that dead lanes had not delivered, and that were sent again over others.
  [[nodiscard]] std::uint64_t dealt_again() const TF_IN_TURN { return outbox_.dealt_again(); }
  void fail_from_outside(Error error) TF_IN_TURN { fail(std::move(error)); }
  // Returns true while the peer has not confirmed all messages that are done, and may still do so.
  [[nodiscard]] bool owes() const TF_IN_TURN {
    return !failed() && !peer_over_ && outbox_.outstanding() > outbox_.undone();
  }

 private:
  // A posted receive of the peer's.
  struct Target {
    stripe::GroupId group;
    stripe::ReceiveIndex index;
    bool on_host = true;
  };

  void await_confirmations();
  void on_submitted() override TF_IN_TURN;
  void on_progress(lane::Lane& lane) override TF_IN_TURN;
  void on_suspicion(const lane::Lane& lane, bool suspected) override TF_IN_TURN;
  void give_up(lane::Lane& lane, const Error& why) override TF_IN_TURN;
  void on_time(Instant now) override TF_IN_TURN;
  Status on_control(const lane::RecordHeader& header, std::span<const std::byte> body) override TF_IN_TURN;
  void fail_requests() override TF_IN_TURN;
  void on_peer_ended(Error why) override TF_IN_TURN;
  void on_lane_failed(lane::Lane& lane, const Loss& loss) override TF_IN_TURN;
  [[nodiscard]] const char* doing() const override TF_IN_TURN;
  void note_duties(Instant now) const override TF_IN_TURN;
  [[nodiscard]] const stripe::Traffic& traffic() const override { return outbox_.traffic(); }
  [[nodiscard]] std::size_t outstanding() const override {
    return outbox_.outstanding() + (is_refused() ? 1 : 0);
  }
  [[nodiscard]] bool needs_receive() const override {
    return outbox_.waits_for_receive() || (outbox_.outstanding() == 0 && is_refused());
  }
  [[nodiscard]] bool lacks_offered() const override TF_IN_TURN { return has_no_taker(); }
  [[nodiscard]] bool in_use() const override { return welcomed(); }
  [[nodiscard]] bool is_free(const lane::Lane& lane) const override TF_IN_TURN {
    return book_.state(lane.id()) == flows::SendFlows::State::gone && outbox_.drained(lane.id());
  }
  flows::PathUse measure(stripe::RouteId route, Instant now) override TF_IN_TURN;
  void use_flows(stripe::RouteId route, std::uint32_t flows, std::uint32_t keep,
                 Instant now) override TF_IN_TURN;
  [[nodiscard]] const flows::Path* quickest_sister(stripe::RouteId route,
                                                   Instant now) const override TF_IN_TURN;
  [[nodiscard]] bool uses(const void* data, std::size_t size) const override {
    return outbox_.uses(data, size);
  }

  // Returns the receive that the next message with this tag goes to; nothing if it is not announced yet.
  std::optional<Target> next_target(int tag);
  [[nodiscard]] bool is_refused() const;
  void ask_for_receive() TF_IN_TURN;
  void ask_kernels() TF_IN_TURN;
  void pump() TF_IN_TURN;
  void poll_paths() TF_IN_TURN;
  void wake_paths() TF_IN_TURN;
  void take_acknowledgements() TF_IN_TURN;
  void on_peer_finished(lane::Lane& lane) TF_IN_TURN;
  void leave_placing_lanes() TF_IN_TURN;
  void close_if_drained(lane::Lane& lane) TF_IN_TURN;
  void leave_lane(lane::Lane& lane) TF_IN_TURN;
  void close_spare_flows(stripe::RouteId route, std::uint32_t keep) TF_IN_TURN;
  void close_replaced_flows(stripe::RouteId route, std::uint32_t flows) TF_IN_TURN;
  SendRoute& route_at(stripe::RouteId route) { return routes_[route.value]; }
  SendRoute& route_of(const lane::Lane& lane) { return route_at(book_.route(lane.id())); }
  [[nodiscard]] flows::SendFlows::State state_of(const lane::Lane& lane) const {
    return book_.state(lane.id());
  }
  void warn_of_path_mtu(const SendRoute& route, std::uint32_t mss) const TF_IN_TURN;
  void judge(stripe::RouteId route, Instant now) TF_IN_TURN;

  // --- lanes that die and come back (send_recovery.cc)
  void bury(lane::Lane& lane, const Error& why, Instant silent_since) TF_IN_TURN;
  void begin_burial(lane::Lane& lane) TF_IN_TURN;
  void on_fenced(lane::Lane& lane, std::uint64_t position) override TF_IN_TURN;
  void on_peer_over(const lane::Lane& lane) TF_IN_TURN;
  Status on_buried(std::span<const std::byte> body) TF_IN_TURN;
  Status settle(stripe::LaneSerial serial, const stripe::Burials::Settlement& settlement) TF_IN_TURN;

  // --- while nothing is confirmed (send_silence.cc)
  void note_confirmations() TF_IN_TURN;
  [[nodiscard]] bool awaits_answer() const TF_IN_TURN;
  [[nodiscard]] Duration unconfirmed_for(Instant now) const TF_IN_TURN;
  bool note_silence(Instant now) TF_IN_TURN;
  void replace_silent(const lane::Lane& joined) TF_IN_TURN;
  [[nodiscard]] bool lacks_answer(stripe::RouteId route, Instant now) const TF_IN_TURN;
  // A kernel decides when the lane sends again, and may take too long.
  [[nodiscard]] static bool repeats_late(const lane::Lane& lane) { return !lane.traits().retries_at_once; }
  bool ask_while_waiting(Instant now) TF_IN_TURN;

  // --- lanes that are opened by offers (send_offers.cc)
  // One that is being opened.
  struct Offering {
    lane::OfferedLane* lane = nullptr;
    std::size_t theirs = 0;  // the peer's rail
    Instant since;
    bool offered = false, answered = false, said_ready = false;
  };
  bool open_offered_lane(stripe::RouteId route) TF_IN_TURN;
  Status on_rail(std::span<const std::byte> body) TF_IN_TURN;
  Status meet_rails();
  Status on_accept(std::span<const std::byte> body) TF_IN_TURN;
  void go_on_offering(const lane::Lane& lane) TF_IN_TURN;
  void go_on_offering() TF_IN_TURN;
  void offer_again();
  [[nodiscard]] std::vector<Offering>::iterator find_offering(const lane::Lane& lane);
  [[nodiscard]] bool can_offer(SendRoute& route) TF_IN_TURN;
  void waive_offers();
  void begin_without_offers(const Error& why) TF_IN_TURN;
  [[nodiscard]] bool may_be_offered() const TF_IN_TURN;
  void note_ready(Instant now) TF_IN_TURN;
  [[nodiscard]] bool has_no_taker() const TF_IN_TURN;
  [[nodiscard]] static Error no_taker();
  bool note_no_taker(Instant now) TF_IN_TURN;

  // --- which routes carry (send_routes.cc)
  [[nodiscard]] engine::Carrier* usable_carrier(const SendRoute& route) const TF_IN_TURN;
  [[nodiscard]] bool has_way_left() const TF_IN_TURN;
  [[nodiscard]] bool is_trusted(const lane::Lane& lane) const TF_IN_TURN;
  [[nodiscard]] bool is_needed(stripe::RouteId route, Instant now) const TF_IN_TURN;
  [[nodiscard]] Duration head_start() const { return Duration(context_.options.connect_timeout) / 4; }
  [[nodiscard]] bool has_working_lane(Instant now) const TF_IN_TURN;
  bool does_without(SendRoute& route, Instant now) TF_IN_TURN;
  [[nodiscard]] std::optional<session::RouteClass> carrying_class() const TF_IN_TURN;
  [[nodiscard]] bool has_open_lane(stripe::RouteId route) const TF_IN_TURN;
  void note_class() const TF_IN_TURN;
  void note_start() const TF_IN_TURN;
  void note_loss(const SendRoute& route, const Error& why, bool cut_off, bool only_asked) TF_IN_TURN;
  void deal() TF_IN_TURN;
  bool dial(stripe::RouteId route, Instant now) TF_IN_TURN;
  void dial_all(Instant now, bool cut_off) TF_IN_TURN;
  bool drop_late_joiners(Instant now, bool cut_off) TF_IN_TURN;
  bool rest_standbys(Instant now) TF_IN_TURN;
  void note_return(SendRoute& route) TF_IN_TURN;
  void on_alone() override TF_IN_TURN;
  [[nodiscard]] bool stands_by(const lane::Lane& lane) const override {
    return routes_[book_.route(lane.id()).value].rank != routes_.front().rank;
  }

  Status on_welcome(stripe::LaneId lane, const session::Welcome& welcome,
                    const session::Tag& proof) override TF_IN_TURN;
  void on_joined(lane::Lane& lane) TF_IN_TURN;

  // user's side
  stripe::GroupId next_group_;
  std::optional<lane::AnnouncedReceives::Group> current_;  // has receives without a message
  std::uint8_t used_ = 0;                                  // bit i: its receive i has one
  // between the two
  const std::unique_ptr<lane::AnnouncedReceives> announced_;  // null: messages need no announcement
  std::atomic<bool> welcomed_{false}, ready_{false};
  // engine's side
  session::Hello hello_;
  std::uint32_t last_serial_ = 0;
  std::vector<std::unique_ptr<session::LaneOpening>>
      openings_;  // by LaneId: of the lanes that are opening, and older ones
  std::vector<Offering> offerings_;
  std::vector<std::vector<std::byte>> peer_rails_;  // what it has said of them, by number; empty: not yet
  std::optional<Error> no_offers_;                  // why no lane can be opened by offers
  std::vector<SendRoute> routes_;                   // by RouteId, those of the lowest class first
  bool has_standbys_;                               // there are several classes
  session::RouteClass carrying_;                    // the one whose lanes get pieces
  Instant opened_at_;
  std::optional<Error> first_loss_;  // why the first lane was lost, until one has joined
  flows::SendFlows book_;
  std::vector<flows::FlowJudge::Sight> readings_;  // of the route that is being measured
  Instant busy_at_{};                              // when a message was last posted, or not done yet
  bool awake_ = false;                             // so are all routes
  LaneCounters counters_;
  mutable std::uint32_t refusals_ = 0;  // of isend(), when they were looked at last, and when they grew
  mutable Instant refused_at_{};
  // When bytes of messages were last confirmed, or none awaited that; the engine's pauses until then.
  std::uint64_t confirmations_ = 0;
  Instant confirmed_at_{};
  std::optional<Instant> stopped_at_;  // when the process of the peer was last known to stand still
  Duration paused_until_{};
  bool silent_ = false;  // none were, for so long that new lanes are tried
  stripe::Outbox outbox_;
  std::optional<stripe::GroupId> asked_for_;  // the receive that the peer was last asked about
  stripe::Burials burials_;
  std::optional<Error> peer_over_;  // the peer has closed, and this is why sends fail
  std::string peer_reason_;         // in its own words, if it gave one
};

}  // namespace tfabric::comm
