// A port of an adapter as a carrier: it opens lanes over queue pairs, and takes their completions in its
// engine's turns.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <deque>
#include <memory>
#include <string>
#include <vector>

#include "transport/engine/carrier.h"
#include "transport/engine/polled.h"
#include "transport/engine/rehearsal.h"
#include "transport/rdma/pairs/flush_pair.h"
#include "transport/rdma/pairs/pair_lane.h"
#include "transport/rdma/pairs/port_ways.h"
#include "transport/rdma/verbs/owners.h"

namespace tfabric::rdma::pairs {

class PortCarrier final : public lane::OfferingCarrier, public engine::Polled {
 public:
  static constexpr Duration kTick = std::chrono::milliseconds(1), kRound = std::chrono::milliseconds(50);

  struct Options {
    PortWays* ways = nullptr;      // outlives the carrier
    ConnectionOptions connection;  // its traffic class and service level count for nothing
    // As configured; -1: the communicator's. `control_traffic_class`: of receivers' ends; -1: the same.
    int traffic_class = -1, service_level = -1, control_traffic_class = -1;
    std::unique_ptr<Control> control;
    const LocalMemory* memory = nullptr;             // outlives the carrier
    std::shared_ptr<engine::Rehearsal> rehearsal{};  // of the port; null: there will be none
    int completions = 16384;  // entries of the first completion queue; more are made as needed
  };
  explicit PortCarrier(Options options);
  ~PortCarrier() override;  // logs what it has carried, and by how much work

  // Since it was made.
  struct Counters {
    std::uint64_t given = 0, taken = 0;  // immediates: pieces, or groups of small messages, and records
    std::uint64_t work_requests = 0, doorbells = 0, completions = 0, flushes = 0;
    void add(const SendQueue* queue);
    void add(const Pair& pair);
  };
  [[nodiscard]] Counters work() const;

  // The device is dead, whatever its verbs say.
  void on_device_lost() TF_IN_TURN;
  // The port has no link any more, or has one, again or with other GIDs. At first it has.
  void on_link(bool up) TF_IN_TURN {
    up_ = up;
    changes_ += up ? 1 : 0;
    mind_link();
  }

  [[nodiscard]] const LocalMemory& memory() const { return *options_.memory; }
  // Of a work request: completions of larger ones would say too rarely that the port gets on.
  static constexpr std::uint32_t kMostWrite = 1u << 20;
  [[nodiscard]] std::uint32_t largest_write() const { return std::min(rail_.max_message_bytes, kMostWrite); }
  // The largest message whose immediate goes with it: adaptive routing may reorder what a write carries.
  [[nodiscard]] std::uint32_t largest_whole() const;
  // Does `job` by its control thread, and calls `done` in a later turn (Control::run()).
  void run(std::function<int()> job, std::function<void(int)> done) TF_IN_TURN;
  // The time of this turn.
  [[nodiscard]] Instant now() const { return now_; }
  // Completions of pairs that are gone.
  [[nodiscard]] std::uint64_t stale() const { return stale_; }
  [[nodiscard]] std::size_t pairs() const;

  // --- lane::OfferingCarrier
  std::unique_ptr<lane::OfferedLane> offer(lane::AnnouncedReceives& announced,
                                           const lane::RailMeeting& meeting,
                                           int traffic_class) override TF_IN_TURN;
  Result<std::unique_ptr<lane::OfferedLane>> take_up(std::span<const std::byte> offer,
                                                     const lane::Announcer& announcer) override TF_IN_TURN;

  void flush(std::span<const lane::FlushPlace> places, lane::FlushUser& user,
             std::uint64_t number) override TF_IN_TURN;
  void forget(const lane::FlushUser& user) override TF_IN_TURN;

  // --- engine::Carrier
  [[nodiscard]] const std::string& name() const override { return rail_.name; }
  // Lanes are opened by what is said on others, and lead to no address.
  [[nodiscard]] bool has_family_of(const net::IpAddress& /*remote*/) const override TF_IN_TURN {
    return false;
  }
  std::unique_ptr<lane::Lane> open(const engine::Destination& /*to*/) override TF_IN_TURN { return nullptr; }
  [[nodiscard]] std::optional<Instant> away_since() const override TF_IN_TURN {
    return lost_ ? lost_ : away_;
  }
  [[nodiscard]] bool has_ended(Instant /*now*/) const override TF_IN_TURN { return retired(); }
  [[nodiscard]] std::string why_away(Instant now) const override TF_IN_TURN;
  [[nodiscard]] const std::deque<engine::PeerTraffic>& peers() const override TF_IN_TURN { return peers_; }
  [[nodiscard]] std::uint64_t absences() const override TF_IN_TURN { return absences_; }
  [[nodiscard]] std::uint64_t changes() const override TF_IN_TURN { return changes_; }

  // --- engine::Polled
  bool receive(Instant now) override TF_IN_TURN;
  bool send(Instant now, bool quiet) override TF_IN_TURN;
  void on_time(Instant now) override TF_IN_TURN;
  void forgive(Duration pause, Instant now) override TF_IN_TURN;
  [[nodiscard]] std::size_t carriers() const override TF_IN_TURN { return 1; }
  [[nodiscard]] engine::Carrier& carrier_at(std::size_t /*place*/) override TF_IN_TURN { return *this; }
  [[nodiscard]] std::size_t flows() const override TF_IN_TURN { return 0; }
  [[nodiscard]] engine::Flow& flow_at(std::size_t place) const override TF_IN_TURN;
  [[nodiscard]] bool owes_peers() const override TF_IN_TURN { return false; }
  void halt() override TF_IN_TURN;

  // --- for its lanes
  void note(PairLane& lane) { noted_.push_back(&lane); }
  // It awaits completions: on_time() is for it each millisecond, and not only now and then.
  void watch(PairLane& lane) { watched_.push_back(&lane); }
  void forget(PairLane& lane);
  // What is counted of the peer with this GID; valid as long as the carrier.
  [[nodiscard]] engine::PeerTraffic& traffic_with(const Gid& peer);

 private:
  static constexpr int kBatch = 32;  // completions of one poll
  struct Service {
    std::uint8_t traffic_class = 0, service_level = 0;
  };
  // A place of pairs, one after the other. Completions name the generation, too.
  struct Place {
    std::shared_ptr<Pair> pair;  // null: free
    PairLane* lane = nullptr;    // null: it has gone
    std::uint32_t queue = 0, generation = 0;
  };
  struct Queue {
    CompletionQueue queue;
    std::uint32_t promised = 0;
  };

  // What is told to comms may add to these lists, and take lanes out, so they are gone through by number.
  [[nodiscard]] Place& place(std::size_t number) { return places_[number]; }
  [[nodiscard]] ibv_cq* queue_at(std::size_t number) const { return queues_[number].queue.get(); }
  [[nodiscard]] PairLane* noted_now(std::size_t number) const { return noted_now_[number]; }

  std::unique_ptr<PairLane> make(const std::shared_ptr<lane::AnnouncementBlock>& block,
                                 const PairLane::Ends& ends, std::size_t way,
                                 const Service& service) TF_IN_TURN;
  std::optional<std::size_t> queue_for(std::uint32_t completions);
  void mind_link() TF_IN_TURN;
  void mind_faults() TF_IN_TURN;
  void make_flusher() TF_IN_TURN;
  void drop_flusher() TF_IN_TURN;
  // Nothing has ever been made of it, and nothing is being done.
  [[nodiscard]] bool is_unused() const { return queues_.empty() && jobs_ == 0 && !lost_; }
  bool poll() TF_IN_TURN;
  [[gnu::cold]] void on_poll_failed(int returned) TF_IN_TURN;
  void take(const ibv_wc& completion) TF_IN_TURN;
  void pass_news() TF_IN_TURN;
  void go_on_closing() TF_IN_TURN;

  Options options_;
  const Rail& rail_;      // as it was when the carrier was made
  std::size_t jobs_ = 0;  // of others', that its control thread does
  std::vector<Queue> queues_;
  std::vector<Place> places_;
  std::shared_ptr<FlushPair> flusher_;  // null: nothing has been flushed
  std::optional<std::size_t> flush_queue_;
  std::uint32_t flushers_ = 0;  // that were made
  std::array<ibv_wc, kBatch> completions_{};
  std::deque<engine::PeerTraffic> peers_;
  std::vector<PairLane*> noted_, noted_now_;
  std::vector<PairLane*> watched_;      // null: it has gone, or awaits nothing any more
  Instant next_round_{};                // of all lanes
  std::vector<std::uint32_t> closing_;  // ids of pairs
  Instant now_{};
  std::optional<Instant> lost_, away_;
  std::uint64_t absences_ = 0, changes_ = 0;
  bool up_ = true;  // the link, as far as it is known and not rehearsed
  // Of rehearsed faults: nothing comes in, but for what ends pairs.
  bool is_deaf_ = false;
  Brake brake_;
  std::uint64_t stale_ = 0;
  Counters past_;  // of pairs that are gone; completions and flushes of all
};

}  // namespace tfabric::rdma::pairs
