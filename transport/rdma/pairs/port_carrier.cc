#include "transport/rdma/pairs/port_carrier.h"

#include <fmt/format.h>

#include <algorithm>
#include <stdexcept>
#include <utility>

#include "base/log.h"
#include "transport/rdma/meeting/own_offer.h"

namespace tfabric::rdma::pairs {
namespace {

// wr_id's queue (send_queue.h): a place, and whose turn it is there.
constexpr std::uint32_t kPlaceBits = 19, kGenerationMask = (1u << 12) - 1;
constexpr std::uint32_t id_of(std::size_t place, std::uint32_t generation) {
  return static_cast<std::uint32_t>(place) | (generation & kGenerationMask) << kPlaceBits;
}
// So often is a further completion queue twice as large as the one before.
constexpr std::size_t kDoublings = 3;
// The place of the flush pair, which no other one has.
constexpr std::size_t kFlushPlace = (std::size_t{1} << kPlaceBits) - 1;
constexpr std::size_t place_of(std::uint32_t id) { return id & ((1u << kPlaceBits) - 1); }

// An adapter tells of a loss itself, or refuses.
constexpr engine::Traits kTraits{.answers_without_process = true,
                                 .end_means_closed = false,
                                 .reset_says_why = false,
                                 .retries_at_once = false,
                                 .places_remotely = true,
                                 .largest_record = kMaxRecordBytes,
                                 .shows_packets = false};

}  // namespace

PortCarrier::PortCarrier(Options options)
    : OfferingCarrier(kTraits),
      options_(std::move(options)),
      rail_(options_.ways->rail(options_.ways->usual().number)) {
  set_output(false);  // it leaves with its doorbell
}

// Jobs that are being done use the pairs.
PortCarrier::~PortCarrier() {
  options_.control.reset();
  const Counters did = work();
  if (did.work_requests > 0) {
    TF_INFO(
        "NET/tfabric: RDMA over {}: {} pieces and records sent, {} received, {} flushes; {} work requests in "
        "{} doorbells, {} completions",
        name(), did.given, did.taken, did.flushes, did.work_requests, did.doorbells, did.completions);
  }
}

PortCarrier::Counters PortCarrier::work() const {
  Counters all = past_;
  for (const Place& place : places_) {
    if (place.pair) {
      all.add(*place.pair);
    }
  }
  if (flusher_ != nullptr) {
    all.add(flusher_->send_queue());
  }
  return all;
}

void PortCarrier::Counters::add(const SendQueue* queue) {
  work_requests += queue == nullptr ? 0 : queue->posted();
  doorbells += queue == nullptr ? 0 : queue->posts();
}

void PortCarrier::Counters::add(const Pair& pair) {
  add(pair.send_queue());
  given += pair.given();
  taken += pair.taken();
}

void PortCarrier::run(std::function<int()> job, std::function<void(int)> done) {
  ++jobs_;
  rests_until_ = {};
  options_.control->run(std::move(job), [this, done = std::move(done)](int returned) {
    --jobs_;
    done(returned);
  });
}

std::uint32_t PortCarrier::largest_whole() const {
  const std::uint64_t routed = options_.connection.adaptive_routing_bytes;
  return static_cast<std::uint32_t>(std::min<std::uint64_t>(largest_write(), routed));
}

// --- pairs

std::unique_ptr<lane::OfferedLane> PortCarrier::offer(lane::AnnouncedReceives& announced,
                                                      const lane::RailMeeting& meeting, int traffic_class) {
  return make(announced.block(), {.announced = &announced, .rail = meeting.theirs, .offer = {}}, meeting.way,
              {.traffic_class = meeting::traffic_class_of(options_.traffic_class, traffic_class),
               .service_level = meeting::service_level_of(options_.service_level, traffic_class)});
}

Result<std::unique_ptr<lane::OfferedLane>> PortCarrier::take_up(std::span<const std::byte> offer,
                                                                const lane::Announcer& announcer) {
  const std::optional<PairEnd> there = decode_end(offer);
  if (!there) {
    return Error{Errc::internal, "the peer's offer of a queue pair is malformed"};
  }
  if (is_deaf_) {  // the adapter would acknowledge what comes on it, so that no message seems lost
    return Error{Errc::unusable, fmt::format("rail {} is silent on purpose", name())};
  }
  // What it sends is short: announcements, and that something has come.
  const int own = options_.control_traffic_class;
  std::unique_ptr<lane::OfferedLane> lane =
      make(announcer.block(), {.offer = there}, options_.ways->usual().number,
           {.traffic_class = own < 0 ? there->traffic_class : static_cast<std::uint8_t>(own),
            .service_level = there->service_level});
  if (lane == nullptr) {
    return Error{Errc::unusable, fmt::format("rail {} cannot have more queue pairs", name())};
  }
  return lane;
}

// Each queue pair may have a completion for each of its work requests, and none may be lost.
std::optional<std::size_t> PortCarrier::queue_for(std::uint32_t completions) {
  const auto roomy = std::find_if(queues_.begin(), queues_.end(), [&](const Queue& queue) {
    return queue.promised + completions <= static_cast<std::uint32_t>(queue.queue->cqe);
  });
  if (roomy != queues_.end()) {
    return static_cast<std::size_t>(roomy - queues_.begin());
  }
  // Each is looked at in each turn, so those that follow are larger, where the adapter has such.
  const int larger = options_.completions << std::min<std::size_t>(queues_.size(), kDoublings);
  Result<CompletionQueue> made = create_completion_queue(*rail_.verbs, *rail_.context, larger);
  if (!made && larger > options_.completions) {
    made = create_completion_queue(*rail_.verbs, *rail_.context, options_.completions);
  }
  if (!made) {
    TF_WARN("NET/tfabric: rail {}: {}", name(), made.error().message);
    return std::nullopt;
  }
  queues_.push_back({.queue = std::move(*made)});
  rests_until_ = {};
  return queues_.size() - 1;
}

std::unique_ptr<PairLane> PortCarrier::make(const std::shared_ptr<lane::AnnouncementBlock>& block,
                                            const PairLane::Ends& ends, std::size_t way,
                                            const Service& service) {
  ConnectionOptions connection = options_.connection;
  connection.traffic_class = service.traffic_class;
  connection.service_level = service.service_level;
  const bool sends = ends.announced != nullptr;
  const std::uint32_t completions = Pair::completions_of(sends);
  const std::optional<std::size_t> queue = lost_ ? std::nullopt : queue_for(completions);
  if (!queue) {
    return nullptr;
  }
  auto place = std::find_if(places_.begin(), places_.end(), [](const Place& each) { return !each.pair; });
  place = place == places_.end() ? places_.emplace(places_.end()) : place;
  queues_[*queue].promised += completions;
  place->queue = static_cast<std::uint32_t>(*queue);
  const auto number = static_cast<std::size_t>(place - places_.begin());
  place->pair = std::make_shared<Pair>(Pair::Options{.rail = &options_.ways->rail(way),
                                                     .connection = connection,
                                                     .control = options_.control.get(),
                                                     .cq = queues_[*queue].queue.get(),
                                                     .id = id_of(number, ++place->generation),
                                                     .sends = sends,
                                                     .announcements = block,
                                                     .closing = &closing_,
                                                     .brake = &brake_});
  auto lane = std::make_unique<PairLane>(*this, place->pair, ends);
  place->lane = lane.get();
  return lane;
}

void PortCarrier::flush(std::span<const lane::FlushPlace> places, lane::FlushUser& user,
                        std::uint64_t number) {
  if (flusher_ != nullptr && flusher_->is_spent() && !lost_) {
    drop_flusher();
  }
  if (flusher_ == nullptr) {
    make_flusher();
  }
  ++past_.flushes;
  flusher_->flush(places, user, number);
}

void PortCarrier::make_flusher() {
  const std::optional<std::size_t> queue = queue_for(FlushPair::kWorks);
  flusher_ = std::make_shared<FlushPair>(
      FlushPair::Options{.rail = &options_.ways->rail(options_.ways->usual().number),
                         .connection = &options_.connection,
                         .control = options_.control.get(),
                         .cq = queue ? queues_[*queue].queue.get() : nullptr,
                         .id = id_of(kFlushPlace, ++flushers_)});
  if (lost_ || !queue) {
    flusher_->fail(lost_ ? "its device has failed" : "there is no completion queue for it");
    return;
  }
  flush_queue_ = *queue;
  queues_[*queue].promised += FlushPair::kWorks;
  flusher_->make();
}

// Its verbs may block.
void PortCarrier::drop_flusher() {
  past_.add(flusher_->send_queue());
  if (flush_queue_) {
    queues_[*std::exchange(flush_queue_, std::nullopt)].promised -= FlushPair::kWorks;
  }
  options_.control->run(
      [old = std::exchange(flusher_, nullptr)]() mutable {
        old.reset();
        return 0;
      },
      [](int) {});
}

void PortCarrier::forget(const lane::FlushUser& user) {
  if (flusher_ != nullptr) {
    flusher_->forget(user);
  }
}

std::size_t PortCarrier::pairs() const {
  return static_cast<std::size_t>(
      std::count_if(places_.begin(), places_.end(), [](const Place& each) { return each.pair != nullptr; }));
}

void PortCarrier::forget(PairLane& lane) {
  for (Place& place : places_) {
    place.lane = place.lane == &lane ? nullptr : place.lane;
  }
  std::erase(noted_, &lane);
  std::replace(watched_.begin(), watched_.end(), &lane, static_cast<PairLane*>(nullptr));
  std::replace(noted_now_.begin(), noted_now_.end(), &lane, static_cast<PairLane*>(nullptr));
}

engine::PeerTraffic& PortCarrier::traffic_with(const Gid& peer) {
  const net::IpAddress remote = net::from_octets(peer);
  const auto known =
      std::find_if(peers_.begin(), peers_.end(), [&](const auto& each) { return each.remote == remote; });
  return known != peers_.end() ? *known : peers_.emplace_back(engine::PeerTraffic{.remote = remote});
}

// Frees the places of fenced pairs, and their share of the completion queue. A lane keeps its Pair object.
void PortCarrier::go_on_closing() {
  for (std::size_t i = 0; i < closing_.size();) {
    Place& at = place(place_of(closing_[i]));
    at.pair->go_on_closing();
    if (!at.pair->is_fenced()) {
      ++i;
      continue;
    }
    queues_[at.queue].promised -= at.pair->completions();
    past_.add(*at.pair);
    at.pair.reset();
    closing_.erase(closing_.begin() + static_cast<std::ptrdiff_t>(i));
  }
}

// Its lanes go on, and may be given up: what is on the way may be lost.
void PortCarrier::mind_link() {
  const bool up = up_ && (options_.rehearsal == nullptr || !options_.rehearsal->effect(now_).no_link);
  if (up == !away_) {
    return;
  }
  away_ = up ? std::nullopt : std::optional(now_);
  absences_ += up || lost_ ? 0 : 1;
  for (std::size_t i = 0; i < places_.size() && !up; ++i) {
    if (PairLane* lane = place(i).lane; lane != nullptr) {
      lane->on_link_away();
    }
  }
}

// Packets are the adapter's. What this end does not post does not go out, and what it does not look at has
// not come; the adapter acknowledges that all the same.
void PortCarrier::mind_faults() {
  const engine::FaultEffect effect = options_.rehearsal->effect(now_);
  is_deaf_ = effect.nothing_in;
  if (!brake_.set(effect, now_)) {
    return;
  }
  for (std::size_t i = 0; i < places_.size(); ++i) {
    if (const std::shared_ptr<Pair> pair = place(i).pair) {
      pair->on_released();
    }
  }
}

void PortCarrier::on_device_lost() {
  absences_ += lost_ || away_ ? 0 : 1;
  lost_ = lost_.value_or(now_);
  if (flusher_ != nullptr) {
    flusher_->fail("its device has failed");
  }
  for (std::size_t i = 0; i < places_.size(); ++i) {
    if (const std::shared_ptr<Pair> pair = place(i).pair) {
      pair->on_device_lost();
    }
  }
}

std::string PortCarrier::why_away(Instant now) const {
  const std::optional<Instant> since = away_since();
  return since ? fmt::format("rail {}: {} {:.1f} s ago", name(),
                             lost_ ? "its device has failed"
                             : up_ ? "a rehearsal (tfabric fault) has taken its link"
                                   : "its port has lost its link",
                             std::chrono::duration<double>(now - *since).count())
               : std::string();
}

// --- turns

inline void PortCarrier::take(const ibv_wc& completion) {
  const std::uint32_t id = unpack_work_id(completion.wr_id).queue;
  const std::size_t number = place_of(id);
  Pair* pair = number < places_.size() ? places_[number].pair.get() : nullptr;  // it goes in go_on_closing()
  if (pair != nullptr && pair->id() == id) {
    pair->on_completion(completion, now_);
  } else if (number == kFlushPlace && flusher_ != nullptr && flusher_->id() == id) {
    flusher_->on_completion(completion);
  } else {
    ++stale_;
  }
}

inline bool PortCarrier::poll() {
  bool any = false;
  for (std::size_t i = 0; i < queues_.size(); ++i) {
    ibv_cq* queue = queue_at(i);
    for (int taken = kBatch; taken == kBatch;) {
      taken = queue->context->ops.poll_cq(queue, kBatch, completions_.data());
      if (taken == 0) {
        break;
      }
      if (taken < 0) {
        on_poll_failed(taken);
        return true;
      }
      any = true;
      past_.completions += static_cast<std::uint64_t>(taken);
      for (const ibv_wc& completion : std::span(completions_).first(static_cast<std::size_t>(taken))) {
        take(completion);
      }
    }
  }
  return any;
}

void PortCarrier::on_poll_failed(int returned) {
  TF_WARN("NET/tfabric: rail {}: completions cannot be polled: {}", name(), verbs_fault(returned));
  on_device_lost();
}

// A lane may be gone after anything that its comm is told.
inline void PortCarrier::pass_news() {
  noted_now_.swap(noted_);
  for (std::size_t i = 0; i < noted_now_.size(); ++i) {
    if (PairLane* lane = noted_now(i); lane != nullptr) {
      lane->on_turn();
    }
  }
  noted_now_.clear();
}

bool PortCarrier::receive(Instant now) {
  now_ = now;
  options_.control->take_results();
  bool any = (!is_deaf_ || !closing_.empty()) && poll();
  if (!noted_.empty()) {
    any = true;
    pass_news();
  }
  if (flusher_ != nullptr) {
    any = any || flusher_->has_news();
    flusher_->on_turn();
  }
  if (!closing_.empty()) {
    go_on_closing();
  }
  rests_until_ = is_unused() ? kNever : Instant{};
  return any;
}

bool PortCarrier::send(Instant /*now*/, bool /*quiet*/) { return false; }

void PortCarrier::on_time(Instant now) {
  now_ = now;
  if (options_.rehearsal != nullptr) {
    options_.rehearsal->report(now);
    mind_faults();
    mind_link();
  }
  if (is_unused()) {
    return;
  }
  for (PairLane*& lane : watched_) {  // none is added meanwhile
    if (lane != nullptr && !lane->on_tick()) {
      lane = nullptr;
    }
  }
  std::erase(watched_, nullptr);
  if (now < next_round_) {
    return;
  }
  next_round_ = now + kRound;
  for (std::size_t i = 0; i < places_.size(); ++i) {
    if (PairLane* lane = place(i).lane; lane != nullptr) {
      lane->on_round(now);
    }
  }
}

void PortCarrier::forgive(Duration pause, Instant now) {
  now_ = now;
  for (const Place& place : places_) {
    if (place.pair) {
      place.pair->forgive(pause);
    }
  }
}

engine::Flow& PortCarrier::flow_at(std::size_t /*place*/) const {
  throw std::logic_error("a port has no flows");
}

void PortCarrier::halt() {
  for (std::size_t i = 0; i < places_.size(); ++i) {
    if (const std::shared_ptr<Pair> pair = place(i).pair) {
      pair->set_user(nullptr);
      pair->close();
    }
  }
}

}  // namespace tfabric::rdma::pairs
