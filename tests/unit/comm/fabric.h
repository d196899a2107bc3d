// Two processes of the tests, joined by carriers of a made-up kind, in virtual time: whole comms run over
// lanes that have any traits, count bytes or requests, place pieces by themselves, and take their time to be
// fenced.
//
// Nothing of it is random, and nothing waits: run_until() turns both engines and moves the clock.
#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "transport/comm/listener.h"
#include "transport/comm/send_comm.h"
#include "transport/lane/lane.h"
#include "transport/session/acceptor.h"

namespace tfabric::comm::test {

// What a kind of lanes is like.
struct Kind {
  engine::Traits traits;
  // The lane counts requests, and pieces are there whole or not at all. Otherwise it counts bytes.
  bool counts_requests = false;
  // Pieces are written to the posted receive by the lane itself, when they arrive, whether the comm looks or
  // not.
  bool places = false;
  Duration delay = std::chrono::microseconds(20);  // one way
  Duration fence{};  // how long memory is still moved after the end; zero: not at all
  // A fault of the lane's: its fence says that it is through when it is not.
  bool fences_too_early = false;
  // A kernel confirms what has arrived, whether the process has read it or not (engine::Flow::set_direct()).
  bool confirmed_by_kernel = false;
  // Comms that have a lane are to do without more.
  bool scarce = false;
};

class Fabric;
class WireCarrier;

// One end of a lane. Both ends are in the same list, and know each other by its number.
class WireLane final : public lane::Lane {
 public:
  WireLane(WireCarrier& carrier, std::uint64_t number);
  ~WireLane() override;

  void attach(lane::LaneEvents& events, lane::ControlSink& control, stripe::Inbox* inbox) override;
  [[nodiscard]] engine::Carrier& carrier() const override;
  [[nodiscard]] std::string remote() const override { return "10.0.0.9"; }
  [[nodiscard]] engine::FlowAccount* account() const override { return nullptr; }

  [[nodiscard]] stripe::LaneRoom look(const stripe::Outgoing& message) const override;
  std::optional<stripe::Span> give(const stripe::Piece& piece) override;
  void flush() override {}
  bool say(std::span<const std::byte> record) override;
  [[nodiscard]] std::uint64_t confirmed() const override { return confirmed_; }
  [[nodiscard]] std::uint64_t given() const override { return given_; }
  [[nodiscard]] bool awaits_peer() const override { return confirmed_ < awaited_; }
  [[nodiscard]] bool is_drained() const override {
    return !has_waiting() && (traits().answers_without_process || confirmed_ == given_);
  }
  [[nodiscard]] std::uint64_t answered() const override { return confirmed_; }
  void report() override;
  bool on_report(std::uint64_t position) override;
  [[nodiscard]] bool is_finished() const override { return peer_closed_; }
  [[nodiscard]] bool has_brought_all() const override { return peer_closed_ && is_closed_in_order(); }
  [[nodiscard]] bool is_mid_record() const override { return false; }
  bool drain() override { return false; }
  [[nodiscard]] std::uint32_t timeouts_in_row() const override;
  [[nodiscard]] std::uint32_t probes_unanswered() const override { return 0; }
  [[nodiscard]] Instant progressed_at() const override { return progressed_at_; }
  [[nodiscard]] Instant heard_at() const override { return progressed_at_; }
  [[nodiscard]] Duration round_trip() const override;
  [[nodiscard]] bool is_connecting() const override { return !connected_; }
  [[nodiscard]] bool lacks_neighbour() const override { return false; }
  void retry(Instant) override {}
  void forgive(Duration, Instant) override {}
  [[nodiscard]] lane::Meters meters() const override;
  [[nodiscard]] lane::Loss loss(bool in_use, Instant now) const override;
  [[nodiscard]] std::string describe(Silence, bool, Instant) const override { return "silent"; }

 private:
  friend class Fabric;
  friend class WireCarrier;

  // What is on its way to the other end.
  struct Parcel {
    enum class What : std::uint8_t { piece, record, end, reset } what = What::record;
    Instant at;                     // of its arrival
    std::uint64_t position = 0;     // behind it
    std::vector<std::byte> record;  // or a reset's reason, or a copy of the piece
    stripe::Arrival arrival;        // of a piece
    const std::byte* data = nullptr;
    std::byte* target = nullptr;  // where the lane writes the piece, if it places
  };

  struct Acknowledgement {
    Instant at;  // of its arrival
    std::uint64_t position = 0;
    std::uint32_t bytes = 0;  // of the piece
  };

  [[nodiscard]] std::string label() const override { return "wire " + std::to_string(number_); }
  void finish() override;
  void reset(std::string_view reason) override;
  std::optional<std::uint64_t> begin_fence() override;
  void send(Parcel parcel, std::uint64_t cost);
  void take(const Parcel& parcel);
  Status take_piece(const Parcel& parcel) const;
  void write(const Parcel& parcel) const;
  void acknowledge(const Acknowledgement& acknowledgement);
  void lose(lane::Loss loss);
  bool step(const std::function<bool(Instant)>& due);
  bool step_closing(const std::function<bool(Instant)>& due);
  [[nodiscard]] Fabric& fabric() const;
  [[nodiscard]] WireLane* peer() const;

  WireCarrier* carrier_;
  std::uint64_t number_;
  lane::LaneEvents* events_ = nullptr;
  lane::ControlSink* control_ = nullptr;
  stripe::Inbox* inbox_ = nullptr;
  std::deque<Parcel> way_;                        // to this end
  std::deque<Parcel> before_;                     // from this end, until it is connected
  std::deque<Acknowledgement> acknowledgements_;  // to this end
  std::uint64_t given_ = 0, awaited_ = 0, acknowledged_ = 0, confirmed_ = 0, taken_ = 0;
  std::uint64_t queued_ = 0;      // bytes of pieces that are not acknowledged
  std::size_t on_the_way_ = 0;    // parcels of any kind
  std::uint64_t unreported_ = 0;  // parcels that matter and have come since the last report
  Instant waits_since_{};         // for a confirmation; valid while something is unconfirmed
  Instant progressed_at_{};
  Instant closing_until_{};  // memory is moved until then
  bool connected_ = false, peer_closed_ = false, ended_ = false, news_ = false;
  std::optional<lane::Loss> cut_, lost_;  // is to be lost by this; was
  stripe::GroupId announced_;             // of the peer's receives, when the comm was last told
  Duration busy_{};
};

// One process's end of a cable.
class WireCarrier final : public engine::Carrier, public engine::Polled {
 public:
  WireCarrier(Fabric& fabric, std::size_t host, std::size_t cable, const Kind& kind);

  [[nodiscard]] const std::string& name() const override { return name_; }
  [[nodiscard]] bool has_family_of(const net::IpAddress&) const override { return true; }
  std::unique_ptr<lane::Lane> open(const engine::Destination& to) override;
  [[nodiscard]] std::optional<Instant> away_since() const override { return away; }
  [[nodiscard]] bool has_ended(Instant) const override { return false; }
  [[nodiscard]] std::string why_away(Instant) const override { return away ? "no link" : ""; }
  [[nodiscard]] std::uint64_t absences() const override { return 0; }

  bool receive(Instant now) override;
  bool send(Instant now, bool quiet) override;
  void on_time(Instant now) override;
  [[nodiscard]] std::size_t carriers() const override { return 1; }
  [[nodiscard]] engine::Carrier& carrier_at(std::size_t) override { return *this; }
  [[nodiscard]] std::size_t flows() const override { return 0; }
  [[nodiscard]] engine::Flow& flow_at(std::size_t) const override;
  [[nodiscard]] bool owes_peers() const override { return false; }
  void halt() override {}

  [[nodiscard]] const Kind& kind() const { return kind_; }
  [[nodiscard]] std::size_t host() const { return host_; }
  [[nodiscard]] bool is_scarce() override { return kind_.scarce; }
  std::optional<Instant> away;

 private:
  friend class Fabric;
  friend class WireLane;

  Fabric* fabric_;
  std::size_t host_, cable_;
  std::string name_;
  Kind kind_;
};

// An engine, and what comms stand on.
struct Host {
  Host(Fabric& fabric, std::size_t number, const std::vector<Kind>& cables, const CommOptions& options);

  engine::Engine engine;
  engine::Progress progress{engine, engine::ProgressMode::by_owner, -1, {&engine}};
  hugepage::RegionTable regions;
  Peers peers;
  session::Acceptor acceptor{peers.comms};
  Context context;
  std::unique_ptr<Pending> pending = std::make_unique<Pending>(context);
  std::vector<WireCarrier*> carriers;
  // Comms that are made from now on have these, too.
  void offer(lane::OfferedRails& rails) {
    context.offered = &rails;
    pending = std::make_unique<Pending>(context);
  }
};

class Fabric {
 public:
  explicit Fabric(const std::vector<Kind>& cables, const CommOptions& options = {});
  ~Fabric();
  Fabric(const Fabric&) = delete;
  Fabric& operator=(const Fabric&) = delete;

  [[nodiscard]] Host& host(std::size_t number) { return *hosts_[number]; }
  [[nodiscard]] static Instant now();
  // Returns false if `done` has not become true within so much virtual time.
  bool run_until(const std::function<bool()>& done, Duration within = std::chrono::seconds(60));
  void run_for(Duration time);

  // --- what a test does to the network
  // The process does not run.
  std::array<bool, 2> stands_still{};
  // All lanes of the cable end now, at both ends; or at this end alone.
  void reset(std::size_t cable);
  void reset_at(std::size_t cable, std::size_t host);
  // Nothing arrives over the cable until then.
  void silence(std::size_t cable, Duration time) { silent_until_[cable] = now() + time; }

  // What else happens at its own times: when next, and until now.
  std::function<Instant()> next_elsewhere;
  std::function<void(Instant)> elsewhere;

  // Where receive 0 of the group is, of the only comm that receives: for lanes that place.
  std::map<std::uint32_t, std::byte*> places;
  // What the lanes that are there have been given at this end, by bytes or requests as they count.
  [[nodiscard]] std::uint64_t given_at(std::size_t host, std::optional<std::size_t> cable = {}) const;
  [[nodiscard]] std::uint64_t written_late() const { return written_late_; }

 private:
  friend class WireLane;
  friend class WireCarrier;

  using Ends = std::array<WireLane*, 2>;  // by host; null: there is none, or it is destroyed

  [[nodiscard]] WireLane* end(std::uint64_t number, std::size_t host) const;
  void connect(std::uint64_t number, WireCarrier& carrier);
  [[nodiscard]] Instant next_event() const;

  std::vector<std::unique_ptr<Host>> hosts_;
  std::map<std::uint64_t, Ends> lanes_;
  std::map<std::uint64_t, std::pair<std::size_t, Instant>> connecting_;  // cable, and when it is there
  std::vector<Instant> silent_until_;
  Instant stop_at_ = kNever;  // of run_for()
  std::uint64_t last_number_ = 0, written_late_ = 0;
};

}  // namespace tfabric::comm::test
