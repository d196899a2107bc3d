// Which routes of a send comm have lanes, and which of these carry: dialling and classes.
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <utility>

#include "base/log.h"
#include "transport/comm/send_comm.h"

namespace tfabric::comm {
namespace {

// Of the classes behind `cross`.
const char* role_of(session::RouteClass rank) {
  return rank == session::RouteClass::lifeboat ? "life-boat" : "reserve";
}
const char* manner_of(session::RouteClass rank) {
  return rank == session::RouteClass::lifeboat ? "as a life-boat" : "in reserve";
}

}  // namespace

using lane::Lane;
using LaneState = flows::SendFlows::State;

void SendRoute::back_off(Instant now, Duration patience) {
  if (joined && now - *joined >= kStable) {
    pause = kFirstPause;
  }
  joined.reset();
  const auto spread = static_cast<std::uint64_t>(pause.count() / 5);
  next_try = now + pause - Duration(spread) + Duration(random_u64() % (2 * spread + 1));
  pause = std::min(
      {Duration(2 * pause), kLastPause, std::max(Duration(patience / kPausesInPatience), kFirstPause)});
}

void SendRoute::wait_for_turn(Instant now) {
  next_try = now + Duration(random_u64() % static_cast<std::uint64_t>(Duration(kUrgentPause).count()));
}

engine::Carrier* SendComm::usable_carrier(const SendRoute& route) const {
  engine::Carrier* carrier = context_.engine.find_carrier(route.carrier);
  return carrier != nullptr && !carrier->has_ended(context_.engine.last_turn()) ? carrier : nullptr;
}

// Returns false if no lane is left, and none can be opened that is not bound to end like those that were.
// While the comm is being opened, each route is tried once; what is offered goes over another lane.
bool SendComm::has_way_left() const {
  return std::any_of(lanes_.begin(), lanes_.end(),
                     [](const auto& lane) TF_IN_TURN { return lane->is_open(); }) ||
         std::any_of(routes_.begin(), routes_.end(), [this](const SendRoute& route) TF_IN_TURN {
           return !route.by_offer && usable_carrier(route) != nullptr && (welcomed() || !route.tried);
         });
}

// A lane that is known to work. One that carries may be in doubt: its link is away, or nothing of it has been
// confirmed for a while.
bool SendComm::is_trusted(const Lane& lane) const {
  return lane.is_open() && state_of(lane) == LaneState::open && !suspicion_.of(lane) &&
         !lane.carrier().is_away() && lane.timeouts_in_row() < stripe::Watch::kSuspected;
}

// The lowest class always has lanes, a higher one only while there is no lane below that can be trusted, or,
// if one of it is there always, while that one cannot be: not only when all below are lost, since it takes a
// lane that works to find out whether others are dead. A comm that is being opened gives the lower ones a
// head start.
bool SendComm::is_needed(stripe::RouteId number, Instant now) const {
  const session::RouteClass rank = routes_[number.value].rank;
  if (rank == routes_.front().rank || routes_[number.value].always) {
    return true;
  }
  const bool beside = std::any_of(routes_.begin(), routes_.end(),
                                  [&](const SendRoute& route) { return route.always && route.rank == rank; });
  bool joining = false;
  for (const auto& lane : lanes_) {
    const SendRoute& other = routes_[book_.route(lane->id()).value];
    if (!lane->is_open() || (beside ? !other.always : other.rank >= rank)) {
      continue;
    }
    if (is_trusted(*lane)) {
      return false;
    }
    joining = joining || state_of(*lane) == LaneState::opening;
  }
  return (offers() ? ready() : welcomed()) || !joining || now - opened_at_ >= head_start();
}

// Returns true if the comm has a lane that works. One that joins for the first time has as long as
// is_needed() gives it.
bool SendComm::has_working_lane(Instant now) const {
  const bool joins = !welcomed() && now - opened_at_ < head_start();
  return std::any_of(lanes_.begin(), lanes_.end(), [&](const auto& lane) TF_IN_TURN {
    return is_trusted(*lane) || (lane->is_open() && joins);
  });
}

// Where lanes are scarce, one is enough. A route that is waived stays so while that one works.
bool SendComm::does_without(SendRoute& route, Instant now) {
  engine::Carrier* carrier = usable_carrier(route);
  route.waived = has_working_lane(now) && (route.waived || (carrier != nullptr && carrier->is_scarce()));
  return route.waived;
}

// The lowest class of a lane that may get pieces, whether it is trusted or not; nothing if there is none.
std::optional<session::RouteClass> SendComm::carrying_class() const {
  std::optional<session::RouteClass> lowest;
  for (const auto& lane : lanes_) {
    if (lane->is_open() && state_of(*lane) == LaneState::open) {
      const session::RouteClass rank = routes_[book_.route(lane->id()).value].rank;
      lowest = std::min(lowest.value_or(rank), rank);
    }
  }
  return lowest;
}

void SendComm::deal() {
  const std::optional<session::RouteClass> carrying = carrying_class();
  if (!carrying || !ready()) {
    return;
  }
  for (std::size_t i = 0; i < routes_.size(); ++i) {
    book_.deal_to({i}, routes_[i].rank <= *carrying ? routes_[i].wanted : 0);
  }
  if (std::exchange(carrying_, *carrying) != *carrying) {
    note_class();
  }
}

bool SendComm::has_open_lane(stripe::RouteId route) const {
  return std::any_of(lanes_.begin(), lanes_.end(), [&](const auto& lane) TF_IN_TURN {
    return lane->is_open() && state_of(*lane) == LaneState::open && book_.route(lane->id()) == route;
  });
}

// In an outage nothing stands in, and no rail is missed more than others.
void SendComm::note_duties(Instant now) const {
  if (failed() || !carrying_class()) {
    return;
  }
  for (std::size_t i = 0; i < routes_.size(); ++i) {
    const SendRoute& route = routes_[i];
    const bool open = has_open_lane({i});
    if (open && route.rank == carrying_ && route.rank > session::RouteClass::cross) {
      route.path->note_stand_in(role_of(route.rank), now);
    } else if (!open && route.rank == session::RouteClass::own) {
      route.path->note_missed(now);
    }
  }
}

// Says once for all comms of a path that another class carries.
void SendComm::note_class() const {
  for (const SendRoute& route : routes_) {
    if (route.rank == carrying_ && route.joined && route.rank > session::RouteClass::cross &&
        route.path->on_stand_in(context_.engine.last_turn())) {
      TF_WARN("NET/tfabric: {} carries now, {}: no connection is left over the rails that go before it",
              route.path->name(), manner_of(route.rank));
    }
  }
}

// The same of a comm that has no better class at all.
void SendComm::note_start() const {
  const SendRoute& route = routes_.front();
  if (route.rank > session::RouteClass::cross && route.path->on_stand_in(context_.engine.last_turn())) {
    TF_WARN(
        "NET/tfabric: {} carries from the start, {}, which is slow: the rails of the two hosts are of "
        "different kinds, and meet in no other way. Give all hosts of a job the same kinds of rails",
        route.path->name(), manner_of(route.rank));
  }
}

std::optional<stripe::RouteId> SendComm::open_lanes() {
  std::uint32_t most = 0;
  for (const SendRoute& route : routes_) {
    most = std::max(most, route.wanted);
  }
  const bool any_link =
      std::any_of(routes_.begin(), routes_.end(), [this](const SendRoute& route) TF_IN_TURN {
        const engine::Carrier* carrier = usable_carrier(route);
        return carrier != nullptr && !carrier->is_away();
      });
  std::optional<stripe::RouteId> impossible;
  for (std::uint32_t round = 0; round < most && !failed(); ++round) {
    for (std::size_t i = 0; i < routes_.size(); ++i) {
      if (routes_[i].by_offer || (routes_[i].rank != routes_.front().rank && !routes_[i].always)) {
        continue;
      }
      const engine::Carrier* carrier = usable_carrier(routes_[i]);
      routes_[i].away = any_link && carrier != nullptr && carrier->is_away();
      if (round >= routes_[i].wanted || routes_[i].away || does_without(routes_[i], opened_at_)) {
        continue;
      }
      if (!open_lane({i})) {
        impossible = stripe::RouteId{i};
        routes_[i].back_off(context_.engine.last_turn(), context_.options.outage);
      }
    }
  }
  tend();
  return has_way_left() ? std::nullopt : impossible;
}

// Opens a lane of the route if one is missing and it is time. Returns true if it has.
bool SendComm::dial(stripe::RouteId number, Instant now) {
  SendRoute& route = route_at(number);
  if ((book_.count(number) >= route.wanted && !lacks_answer(number, now)) || !is_needed(number, now)) {
    return false;
  }
  const engine::Carrier* carrier = usable_carrier(route);
  if (carrier == nullptr || carrier->is_away()) {
    route.away = true;
    return false;
  }
  // A try that began before the news may have failed since because of what was then.
  const bool changed = std::exchange(route.changes, carrier->changes()) != carrier->changes();
  const bool told = std::exchange(route.told, false) && route.by_offer;
  if (changed && route.meets) {
    static_cast<void>(meet_rails());
  }
  if (route.by_offer && !can_offer(route)) {
    return false;
  }
  if (std::exchange(route.away, false) || changed || told) {
    route.next_try = now;  // the link is back, or the address
    route.pause = SendRoute::kFirstPause;
  }
  if (now < route.next_try || does_without(route, now)) {
    return false;
  }
  if (route.tried && !route.path->may_dial(route.port, now)) {
    route.wait_for_turn(now);
    return false;
  }
  if (!open_lane(number)) {
    route.back_off(now, context_.options.outage);
    return false;
  }
  return true;
}

void SendComm::dial_all(Instant now, bool cut_off) {
  for (std::size_t i = 0; i < routes_.size(); ++i) {
    if (cut_off) {
      routes_[i].next_try = std::min(routes_[i].next_try, now + SendRoute::kUrgentPause);
    }
    while (dial({i}, now)) {
    }
  }
}

// A kernel repeats its SYN after 1, 3 and 7 s, so a lane that begins in the middle of a cut would join long
// after its end. It is dialled anew instead. Returns true while lanes join.
bool SendComm::drop_late_joiners(Instant now, bool cut_off) {
  constexpr Duration kPatience = std::chrono::seconds(1), kShort = std::chrono::milliseconds(400);
  bool joining = false;
  for (std::size_t i = 0; i < lanes_.size() && welcomed() && !failed(); ++i) {
    Lane& lane = lanes_.at({i});
    if (!lane.is_open() || !repeats_late(lane) || state_of(lane) != LaneState::opening) {
      continue;
    }
    joining = true;
    if (const auto offering = find_offering(lane); offering != offerings_.end()) {
      if (now - offering->since >= context_.options.connect_timeout) {
        give_up(lane, {Errc::remote, fmt::format("{}: the peer has not answered an offer", lane.name())});
      }
      continue;
    }
    // The welcome takes the peer's process, which may have no CPU; the rest is its kernel's.
    const Duration patience = cut_off && lane.is_connecting() ? kShort : kPatience;
    if (now - lane.progressed_at() >= patience) {
      give_up(lane, {Errc::remote, fmt::format("{}: no answer to a dial", lane.name())});
    }
  }
  return joining;
}

// Lanes of higher classes leave when they have not been needed for a while. Returns true while there are
// some, or while there is nothing below that can be trusted.
bool SendComm::rest_standbys(Instant now) {
  constexpr Duration kDwell = std::chrono::seconds(1);
  bool any = false;
  for (const auto& lane : lanes_) {
    if (!lane->is_open() || !stands_by(*lane) || route_of(*lane).always) {
      continue;
    }
    any = true;
    const stripe::RouteId route = book_.route(lane->id());
    const bool rested = route_at(route).joined && now - *route_at(route).joined >= kDwell;
    if (state_of(*lane) == LaneState::open && rested && !is_needed(route, now)) {
      leave_lane(*lane);
    }
  }
  return any || (has_standbys_ && !routes_.back().always && is_needed({routes_.size() - 1}, now));
}

const flows::Path* SendComm::quickest_sister(stripe::RouteId route, Instant now) const {
  const flows::Path* quickest = nullptr;
  for (std::size_t i = 0; i < routes_.size(); ++i) {
    const flows::Path& path = *routes_[i].path;
    if (i != route.value && book_.dealt({i}) > 0 && path.pace().known(now) &&
        (quickest == nullptr || path.pace().rate() > quickest->pace().rate())) {
      quickest = &path;
    }
  }
  return quickest;
}

// A lane of the route has joined.
void SendComm::note_return(SendRoute& route) {
  const Instant now = context_.engine.last_turn();
  route.joined = now;
  route.met = true;
  route.told = false;
  if (const engine::Carrier* carrier = usable_carrier(route); carrier != nullptr) {
    route.changes = carrier->changes();
  }
  first_loss_.reset();
  if (!outbox_.awaits_confirmation() && !has_no_taker()) {
    end_outage();
  }
  const auto absence = route.path->on_return(route.port, now);
  if (absence && (route.rank <= session::RouteClass::cross || route.rank == carrying_)) {
    TF_INFO("NET/tfabric: {}: connected again after {:.1f} s", route.path->name(),
            std::chrono::duration<double>(*absence).count());
  }
}

// A lane does not get on, and there is no other to ask about it: on_time() looks for one.
void SendComm::on_alone() { tend(); }

}  // namespace tfabric::comm
