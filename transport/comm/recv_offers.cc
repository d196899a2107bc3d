// Lanes of a receive comm that the sender offers (lane/offers.h), and which lane announces receives.
#include <algorithm>
#include <utility>

#include "base/log.h"
#include "transport/comm/recv_comm.h"

namespace tfabric::comm {

using lane::Lane;

// A sender that has been told before dials again those that it has no lane over.
void RecvComm::tell_rails(Lane& lane) {
  if (!takes_offers_) {
    return;
  }
  told_changes_ = rail_changes();
  const std::size_t count = offers() ? context_.offered->count() : 0;
  for (std::size_t i = 0; i < count; ++i) {
    lane.tell(lane::encode({.number = static_cast<std::uint8_t>(i),
                            .count = static_cast<std::uint8_t>(count),
                            .text = context_.offered->describe(i)}));
  }
  if (count == 0) {
    lane.tell(lane::encode({.text = {}}));
  }
}

// The sender, which dials, cannot see that a rail of this end has come back, or has another address.
void RecvComm::tell_changed_rails() {
  if (!takes_offers_ || rail_changes() == told_changes_) {
    return;
  }
  if (Lane* speaker = suspicion_.speaker(lane::kMaxControlBytes); speaker != nullptr) {
    tell_rails(*speaker);
  }
}

std::uint64_t RecvComm::rail_changes() const {
  std::uint64_t changes = 0;
  for (std::size_t i = 0; offers() && i < context_.offered->count(); ++i) {
    const lane::OfferingCarrier* carrier = context_.offered->at(i);
    changes += carrier == nullptr ? 0 : carrier->changes();
  }
  return changes;
}

std::size_t RecvComm::offered_lanes() const {
  return static_cast<std::size_t>(
      std::count_if(lanes_.begin(), lanes_.end(), [this](const auto& lane) TF_IN_TURN {
        return lane->carries() && lane->traits().places_remotely &&
               !context_.offered->is_in_reserve(rail_of(*lane));
      }));
}

Status RecvComm::on_offer(std::span<const std::byte> body) {
  const auto offer = lane::decode_offer(body);
  if (!offer || !takes_offers_ || !offers() || offer->rail >= context_.offered->count()) {
    return Error{Errc::internal, "the sender sent a malformed offer of a lane"};
  }
  if (Lane* known = lanes_.find(offer->serial); known != nullptr) {
    answer_again(*known);
    return {};
  }
  if (graves_.forbids(offer->serial) || lanes_.open() >= session::kMaxLanes) {
    return {};  // it has been given up meanwhile, or will be
  }
  lane::OfferingCarrier* carrier = context_.offered->at(offer->rail);
  if (carrier == nullptr || !context_.offered->prepare(offer->rail)) {
    refuse(offer->serial);
    return {};
  }
  auto taken = carrier->take_up(offer->text, *announcer_);
  if (!taken && taken.error().code == Errc::internal) {
    return taken.error();
  }
  if (!taken) {
    TF_INFO("NET/tfabric: {}; the offer is refused", taken.error().message);
    refuse(offer->serial);
    return {};
  }
  lane::OfferedLane* lane = taken->get();
  (*taken)->attach(*this, *this, &inbox_);
  adopt(std::move(*taken), offer->serial);
  unanswered_.push_back(lane);
  return {};
}

// The answer to the first offer may have been lost.
void RecvComm::answer_again(Lane& lane) {
  if (lane.carries() || !lane.traits().places_remotely) {
    return;
  }
  auto* offered = static_cast<lane::OfferedLane*>(&lane);
  if (std::find(unanswered_.begin(), unanswered_.end(), offered) == unanswered_.end()) {
    unanswered_.push_back(offered);
  }
  answer_offers();
}

// As if it had been closed here before it brought anything.
void RecvComm::refuse(stripe::LaneSerial serial) {
  graves_.add(serial, 0);
  lanes_.tell_all(lane::encode_position(lane::RecordType::buried, {serial, 0}));
}

void RecvComm::answer_offers() {
  const auto useless =
      std::find_if(unanswered_.begin(), unanswered_.end(), [this](const lane::OfferedLane* lane) TF_IN_TURN {
        return !lane->text().empty() && !context_.offered->prepare(rail_of(*lane));
      });
  if (useless != unanswered_.end()) {
    give_up(**useless, {});
    answer_offers();
    return;
  }
  std::erase_if(unanswered_, [this](lane::OfferedLane* lane) TF_IN_TURN {
    const auto text = lane->text();
    Lane* speaker = text.empty() ? nullptr : suspicion_.speaker(lane::kMaxControlBytes);
    if (speaker != nullptr) {
      speaker->tell(
          lane::encode(lane::RecordType::accept, {.serial = lane->serial(), .rail = 0, .text = text}));
    }
    return speaker != nullptr;
  });
}

// Comes on the lane itself. What places receives by itself announces them, too.
Status RecvComm::on_ready(std::span<const std::byte> body) {
  const auto serial = lane::decode_serial(body);
  Lane* lane = serial ? lanes_.find(*serial) : nullptr;
  if (!serial || lane == nullptr || !lane->traits().places_remotely) {
    return Error{Errc::internal, "the sender says of a lane that it is ready, and it has offered none"};
  }
  if (context_.offered->is_in_reserve(rail_of(*lane))) {  // it knows the receives' memory now
    announcer_->renew(
        [this](stripe::GroupId group, stripe::ReceiveIndex index) { return inbox_.awaits(group, index); });
  }
  on_joined(*lane);
  return {};
}

std::size_t RecvComm::rail_of(const Lane& lane) const {
  std::size_t rail = 0;
  while (context_.offered->at(rail) != &lane.carrier()) {
    ++rail;
  }
  return rail;
}

// One that places receives by itself, if there is one that is trusted, since no other can say where they are.
Lane* RecvComm::announcing_lane() const {
  for (const auto& lane : lanes_) {
    if (lane->carries() && lane->traits().places_remotely && !suspicion_.of(*lane)) {
      return lane.get();
    }
  }
  return suspicion_.speaker(lane::kMaxControlBytes);
}

// A speaker that sends records is replaced by a lane that places receives, and a doubtful one by one that is
// not.
void RecvComm::choose_speaker() {
  const auto is_doubtful = [this](const Lane& lane)
                               TF_IN_TURN { return lane.carrier().is_away() || suspicion_.of(lane); };
  if (const Lane* speaker = announcer_->speaker();
      speaker != nullptr && (takes_offers_ || is_doubtful(*speaker))) {
    const Lane* best = announcing_lane();
    if (best != nullptr && !is_doubtful(*best) && (best->traits().places_remotely || is_doubtful(*speaker))) {
      announcer_->on_ended(*speaker);
    }
  }
}

// Announces what the sender may not know.
void RecvComm::announce() {
  if (announcer_ == nullptr || has_ended()) {
    return;
  }
  if (!announcer_->writes()) {
    choose_speaker();
  }
  if (!announcer_->has_unsaid()) {
    return;
  }
  if (announcer_->lacks_speaker()) {
    if (Lane* lane = announcing_lane(); lane != nullptr) {
      announcer_->begin(*lane);
    }
  }
  announcer_->speak();
}

}  // namespace tfabric::comm
