// Lanes of a send comm that are opened by offers (lane/offers.h), and what it does until one of them carries.
#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "transport/comm/send_comm.h"

namespace tfabric::comm {

using lane::Lane;

// The peer says its rails on each lane that it takes, one by one.
Status SendComm::on_rail(std::span<const std::byte> body) {
  const auto rail = lane::decode_rail(body);
  if (!rail || !offers() || (!peer_rails_.empty() && peer_rails_.size() != rail->count)) {
    return Error{Errc::internal, "the receiver sent a malformed record about its rails"};
  }
  if (rail->count == 0) {
    begin_without_offers({Errc::invalid_usage, "the peer has no rail over which lanes are offered"});
    return {};
  }
  peer_rails_.resize(rail->count);
  peer_rails_[rail->number].assign(rail->text.begin(), rail->text.end());
  const bool whole = std::none_of(peer_rails_.begin(), peer_rails_.end(),
                                  [](const std::vector<std::byte>& text) { return text.empty(); });
  if (!whole) {
    return {};
  }
  if (Status met = meet_rails(); !met) {
    begin_without_offers(met.error());
    return {};
  }
  for (SendRoute& route : routes_) {
    route.told = true;
  }
  tend();
  dial_all(context_.engine.last_turn(), /*cut_off=*/false);
  return {};
}

// Either end's addresses may change, and with them how two rails meet, and whether they can: what was found
// once stays where nothing is found now, since an address that has gone may come back. Fails if nothing was
// found ever.
Status SendComm::meet_rails() {
  const auto meetings = context_.offered->meet(peer_rails_);
  bool any = false;
  for (SendRoute& route : routes_) {
    if (!route.by_offer) {
      continue;
    }
    if (meetings && (*meetings)[route.rail_number]) {
      route.meets = (*meetings)[route.rail_number];
    }
    route.waived = !route.meets;
    any = any || route.meets;
  }
  return any || meetings ? Status() : Status(meetings.error());
}

// No lane is missed on the routes whose lanes are offered.
void SendComm::waive_offers() {
  for (SendRoute& route : routes_) {
    route.waived = route.waived || route.by_offer;
  }
}

// The two hosts have nothing in common that lanes can be offered over.
void SendComm::begin_without_offers(const Error& why) {
  waive_offers();
  if (context_.offered->takes_gpu_memory()) {
    fail(Error{why.code, fmt::format("{}; memory of a GPU can go no other way", why.message)});
    return;
  }
  no_offers_ = why;
  const SendRoute& route = routes_.front();
  if (route.path->on_unmet()) {
    TF_WARN("NET/tfabric: {}: {}. What stands in for RDMA carries instead, which is slower",
            route.path->name(), why.message);
  }
  note_ready(context_.engine.last_turn());
}

bool SendComm::can_offer(SendRoute& route) {
  if (!route.meets || !welcomed() || suspicion_.speaker(lane::kMaxControlBytes) == nullptr) {
    return false;
  }
  const bool is_ready = context_.offered->prepare(route.rail_number);
  route.waived = route.waived || !is_ready;
  return is_ready;
}

bool SendComm::open_offered_lane(stripe::RouteId route) {
  const SendRoute& over = route_at(route);
  lane::OfferingCarrier* carrier = context_.offered->at(over.rail_number);
  auto opened =
      carrier == nullptr ? nullptr : carrier->offer(*announced_, *over.meets, context_.options.traffic_class);
  if (opened == nullptr) {
    return false;
  }
  lane::OfferedLane* offered = opened.get();
  Lane& lane = adopt(std::move(opened), {++last_serial_});
  lane.attach(*this, *this, nullptr);
  outbox_.renew(lane.id());
  book_.opening(route, lane, context_.options.offered_piece_bytes);
  route_at(route).judge.forget(lane.id());
  offerings_.push_back({.lane = offered, .theirs = over.meets->theirs, .since = context_.engine.now()});
  return true;
}

std::vector<SendComm::Offering>::iterator SendComm::find_offering(const Lane& lane) {
  return std::find_if(offerings_.begin(), offerings_.end(),
                      [&](const Offering& each) { return each.lane == &lane; });
}

// Offers the lane once it is made. It joins when something has arrived on it: what both ends have agreed on
// went another way, and says nothing about this one.
void SendComm::go_on_offering(const Lane& lane) {
  const auto offering = find_offering(lane);
  if (offering == offerings_.end()) {
    return;
  }
  lane::OfferedLane& offered = *offering->lane;
  const auto text = offered.text();
  if (!text.empty() && !context_.offered->prepare(route_of(lane).rail_number)) {
    give_up(offered, {Errc::system, fmt::format("{}: not all memory is known to it", offered.name())});
    return;
  }
  Lane* speaker = suspicion_.speaker(lane::kMaxControlBytes);
  if (!text.empty() && !offering->offered && speaker != nullptr) {
    offering->offered = true;
    speaker->tell(lane::encode(
        lane::RecordType::offer,
        {.serial = offered.serial(), .rail = static_cast<std::uint8_t>(offering->theirs), .text = text}));
  }
  if (offered.is_ready() && !offering->said_ready) {
    offering->said_ready = offered.say(lane::encode_serial(lane::RecordType::ready, offered.serial()));
  }
  if (offering->said_ready && !offered.awaits_peer()) {
    offerings_.erase(offering);
    on_joined(offered);
  }
}

// A lane over which offers go has joined: those without an answer may have been lost with another one.
void SendComm::offer_again() {
  for (Offering& offering : offerings_) {
    offering.offered = offering.offered && offering.answered;
  }
}

// For those that could not be said at once.
void SendComm::go_on_offering() {
  for (std::size_t i = offerings_.size(); i > 0; --i) {
    if (i <= offerings_.size()) {
      go_on_offering(*offerings_[i - 1].lane);
    }
  }
}

// Of a lane that has been given up it comes too late.
Status SendComm::on_accept(std::span<const std::byte> body) {
  const auto answer = lane::decode_offer(body);
  if (!answer) {
    return Error{Errc::internal, "the receiver sent a malformed answer to an offer"};
  }
  const auto offering = std::find_if(offerings_.begin(), offerings_.end(), [&](const Offering& each) {
    return each.lane->serial() == answer->serial;
  });
  if (offering == offerings_.end() || std::exchange(offering->answered, true)) {
    return {};  // it was offered twice
  }
  return offering->lane->on_answer(answer->text);
}

// Returns true if the next message is in memory of a GPU, and no lane works that can carry it.
bool SendComm::has_no_taker() const {
  const stripe::Outgoing* next = ready() && announced_ != nullptr ? outbox_.next_to_deal() : nullptr;
  return next != nullptr && !next->on_host && !lanes_.any_places();
}

Error SendComm::no_taker() {
  return {Errc::remote,
          "no lane works that can carry memory of a GPU, and none has come back (tcp.user_timeout_ms)"};
}

// It waits as long as it would for any lane. Returns true while it does.
bool SendComm::note_no_taker(Instant now) {
  if (!has_no_taker()) {
    return false;
  }
  if (!in_outage() && !peer_over_) {
    begin_outage(no_taker(), now);
  }
  return true;
}

// Returns false if each route whose lanes are offered has been tried in vain.
bool SendComm::may_be_offered() const {
  for (std::size_t i = 0; i < routes_.size(); ++i) {
    const SendRoute& route = routes_[i];
    if (route.by_offer && !route.waived && (!route.tried || book_.count({i}) > 0)) {
      return true;
    }
  }
  return false;
}

// NCCL can have the comm once a lane does that was offered, or, for host memory, once these have had time
// enough.
void SendComm::note_ready(Instant now) {
  if (ready() || !welcomed()) {
    return;
  }
  const bool whole = !offers() || no_offers_ || lanes_.any_places();
  const bool waits = offers() && (context_.offered->takes_gpu_memory() ||
                                  (now - opened_at_ < head_start() && may_be_offered()));
  if (!whole && waits) {
    return;
  }
  ready_.store(true, std::memory_order_release);
  if (peer_rails_.empty()) {  // it has none, it seems; should it name some, they are tried
    waive_offers();
  }
  deal();
  note_start();
}

}  // namespace tfabric::comm
