#include "transport/comm/wait_facts.h"

#include <algorithm>

namespace tfabric::comm {
namespace {

verdict::PeerView view_of(witness::View view) {
  switch (view) {
    case witness::View::unknown:
      return verdict::PeerView::unknown;
    case witness::View::alive:
      return verdict::PeerView::runs;
    case witness::View::asked:
    case witness::View::closing:
      return verdict::PeerView::undecided;
    case witness::View::stopped:
      return verdict::PeerView::stopped;
    case witness::View::silent:
    case witness::View::lost:
      return verdict::PeerView::silent;
    case witness::View::ended:
      return verdict::PeerView::ended;
  }
  return verdict::PeerView::unknown;
}

verdict::LaneFacts facts_of(const lane::Lane& lane, Instant now) TF_IN_TURN {
  const engine::Carrier& carrier = lane.carrier();
  const bool by_hca = lane.traits().places_remotely;
  return {.rail = carrier.name(),
          .by_kernel = lane.traits().answers_without_process && !by_hca,
          .no_link = carrier.is_away(),
          .no_link_for = now - carrier.away_since().value_or(now),
          .no_neighbour = lane.lacks_neighbour(),
          .driver_stalled = carrier.is_stalled(),
          .unacknowledged = lane.awaits_peer() && (!by_hca || lane.timeouts_in_row() > 0),
          .repetitions = lane.timeouts_in_row(),
          .unheard = now - lane.heard_at(),
          .round_trip = lane.round_trip(),
          .by_hca = by_hca};
}

}  // namespace

void add_process(verdict::WaitFacts& facts, const session::PeerProcesses& processes,
                 const session::ProcessUser& user) {
  facts.peer = processes.introduction(user);
  const witness::Witness::Hearing hearing = processes.hearing(user);
  facts.unheard_here = hearing.here;
  facts.unheard_there = hearing.there;
  facts.view = view_of(session::PeerProcesses::view(user));
}

void add_lanes(verdict::WaitFacts& facts, const Lanes& lanes, bool lacks_offered, Instant now) {
  const bool offered_alone = lacks_offered || lanes.any_places();
  for (const auto& lane : lanes) {
    if (lane->carries() && (!offered_alone || lane->traits().places_remotely)) {
      facts.address = lane->remote();
      facts.lanes.push_back(facts_of(*lane, now));
    }
  }
}

}  // namespace tfabric::comm
