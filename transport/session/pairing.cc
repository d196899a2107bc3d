#include "transport/session/pairing.h"

#include <algorithm>
#include <tuple>

namespace tfabric::session {
namespace {

using Positions = std::vector<std::size_t>;

template <class Accept>
Positions positions(std::span<const RailEnd> rails, const Accept& accept) {
  Positions found;
  for (std::size_t i = 0; i < rails.size(); ++i) {
    if (accept(rails[i])) {
      found.push_back(i);
    }
  }
  return found;
}

std::size_t distance(std::size_t a, std::size_t b) { return a > b ? a - b : b - a; }

// Those rails of both ends that are to meet, by their places among these.
class Match {
 public:
  struct Edge {
    std::size_t ours, theirs;
    int nearness;
  };

  Match(std::span<const RailEnd> ours, std::span<const RailEnd> theirs, Positions our_places,
        Positions their_places)
      : our_places_(std::move(our_places)),
        their_places_(std::move(their_places)),
        ours_met_(our_places_.size()),
        theirs_met_(their_places_.size()) {
    for (std::size_t i = 0; i < our_places_.size(); ++i) {
      for (std::size_t j = 0; j < their_places_.size(); ++j) {
        if (const auto near = nearness(ours[our_places_[i]], theirs[their_places_[j]])) {
          edges_.push_back({i, j, *near});
        }
      }
    }
  }

  // Each with one counterpart, as far as there are so many.
  void meet_one_to_one() {
    // Edges that are equal by this order have no rail in common, so it does not matter which comes first; and
    // it is the same seen from the other end.
    std::sort(edges_.begin(), edges_.end(), [](const Edge& a, const Edge& b) {
      const auto key = [](const Edge& edge) {
        return std::tuple(-edge.nearness, distance(edge.ours, edge.theirs), std::min(edge.ours, edge.theirs));
      };
      return key(a) < key(b);
    });
    for (const Edge& edge : edges_) {
      if (ours_met_[edge.ours] == 0 && theirs_met_[edge.theirs] == 0) {
        ours_met_[edge.ours] = theirs_met_[edge.theirs] = 1;
        met_.push_back(edge);
      }
    }
  }

  void meet_rest() {
    spread(ours_met_, theirs_met_, &Edge::ours, &Edge::theirs);
    spread(theirs_met_, ours_met_, &Edge::theirs, &Edge::ours);
  }

  void add_met(RouteClass rank, std::vector<RailPair>& pairs) {
    std::sort(met_.begin(), met_.end(), [](const Edge& a, const Edge& b) {
      return std::tuple(a.ours, a.theirs) < std::tuple(b.ours, b.theirs);
    });
    for (const Edge& edge : met_) {
      add(edge, rank, pairs);
    }
  }

  // Of those that were added: each with the counterpart of the next one, of those in its own network if there
  // are any.
  void cross(RouteClass rank, std::vector<RailPair>& pairs) const {
    for (std::size_t k = 0; k < met_.size(); ++k) {
      const Edge* best = nullptr;
      for (std::size_t step = 1; step < met_.size(); ++step) {
        const Edge* edge = find(met_[k].ours, met_[(k + step) % met_.size()].theirs);
        if (edge != nullptr && (best == nullptr || (best->nearness == 0 && edge->nearness > 0))) {
          best = edge;
        }
      }
      if (best != nullptr) {
        add(*best, rank, pairs);
      }
    }
  }

 private:
  using Side = std::size_t Edge::*;

  // Each that has met none, of the side `left`, meets one of the other side that has met the fewest.
  void spread(std::vector<std::size_t>& left, std::vector<std::size_t>& others, Side own, Side other) {
    for (std::size_t place = 0; place < left.size(); ++place) {
      const Edge* best = nullptr;
      const auto key = [&](const Edge& edge) {
        return std::tuple(others[edge.*other], -edge.nearness, edge.*other != place % others.size(),
                          edge.*other);
      };
      for (const Edge& edge : edges_) {
        if (left[place] == 0 && edge.*own == place && (best == nullptr || key(edge) < key(*best))) {
          best = &edge;
        }
      }
      if (best != nullptr) {
        ++others[best->*other];
        met_.push_back(*best);
      }
    }
  }

  [[nodiscard]] const Edge* find(std::size_t ours, std::size_t theirs) const {
    const auto found = std::find_if(edges_.begin(), edges_.end(), [&](const Edge& edge) {
      return edge.ours == ours && edge.theirs == theirs;
    });
    return found == edges_.end() ? nullptr : &*found;
  }

  // Unless the two meet already.
  void add(const Edge& edge, RouteClass rank, std::vector<RailPair>& pairs) const {
    const RailPair pair{our_places_[edge.ours], their_places_[edge.theirs], rank};
    const bool known = std::any_of(pairs.begin(), pairs.end(), [&](const RailPair& other) {
      return other.ours == pair.ours && other.theirs == pair.theirs;
    });
    if (!known) {
      pairs.push_back(pair);
    }
  }

  Positions our_places_, their_places_;
  std::vector<std::size_t> ours_met_, theirs_met_;  // how many each has met
  std::vector<Edge> edges_, met_;
};

void meet_all(Match& match, RouteClass rank, std::vector<RailPair>& pairs) {
  match.meet_one_to_one();
  match.meet_rest();
  match.add_met(rank, pairs);
}

// Returns true if one of these is a life-boat.
bool any_lifeboat(std::span<const RailEnd> rails, const Positions& places) {
  return std::any_of(places.begin(), places.end(),
                     [&](std::size_t place) { return rails[place].role == RailRole::lifeboat; });
}

void pair_kind(std::span<const RailEnd> ours, std::span<const RailEnd> theirs, std::uint8_t kind,
               std::vector<RailPair>& pairs) {
  const auto own = [&](const RailEnd& end) { return end.kind == kind && end.role == RailRole::own; };
  const auto other = [&](const RailEnd& end) { return end.kind == kind && end.role != RailRole::own; };
  const Positions our_own = positions(ours, own), their_own = positions(theirs, own);
  Match match(ours, theirs, our_own, their_own);
  meet_all(match, RouteClass::own, pairs);
  // One counterpart more is enough: of three rails or more, two that are lost leave a pair of counterparts.
  match.cross(RouteClass::cross, pairs);
  const Positions our_others = positions(ours, other), their_others = positions(theirs, other);
  if (!our_others.empty() || !their_others.empty()) {
    Match stand_ins(ours, theirs, our_others.empty() ? our_own : our_others,
                    their_others.empty() ? their_own : their_others);
    const bool lifeboats = any_lifeboat(ours, our_others) || any_lifeboat(theirs, their_others);
    meet_all(stand_ins, lifeboats ? RouteClass::lifeboat : RouteClass::reserve, pairs);
  }
}

}  // namespace

std::vector<net::Prefix> networks_of(std::span<const std::string> addresses) {
  std::vector<net::Prefix> networks;
  for (const std::string& text : addresses) {
    if (const auto prefix = net::parse_prefix(text)) {
      networks.push_back(*prefix);
    }
  }
  return networks;
}

std::optional<int> nearness(const RailEnd& ours, const RailEnd& theirs) {
  constexpr int kV4Bits = 96;  // before an IPv4 address that is mapped into IPv6
  std::optional<int> best;
  if (ours.addresses.empty() || theirs.addresses.empty()) {
    best = 0;
  }
  for (const net::Prefix& own : ours.addresses) {
    for (const net::Prefix& other : theirs.addresses) {
      if (own.address.is_v4() == other.address.is_v4()) {
        const int length = own.length + (own.address.is_v4() ? kV4Bits : 0);
        best = std::max(best.value_or(0), own.contains(other.address) ? length + 1 : 0);
      }
    }
  }
  return best;
}

std::vector<RailPair> pair_one_to_one(std::span<const RailEnd> ours, std::span<const RailEnd> theirs) {
  std::vector<RailPair> pairs;
  for (std::uint8_t kind = 0; kind < kRailKinds; ++kind) {
    const auto of_kind = [&](const RailEnd& end) { return end.kind == kind; };
    Match match(ours, theirs, positions(ours, of_kind), positions(theirs, of_kind));
    match.meet_one_to_one();
    match.add_met(RouteClass::own, pairs);
  }
  return pairs;
}

std::vector<RailPair> pair_rails(std::span<const RailEnd> ours, std::span<const RailEnd> theirs) {
  std::vector<RailPair> pairs;
  for (std::uint8_t kind = 0; kind < kRailKinds; ++kind) {
    pair_kind(ours, theirs, kind, pairs);
  }
  std::stable_sort(pairs.begin(), pairs.end(),
                   [](const RailPair& a, const RailPair& b) { return a.rank < b.rank; });
  return pairs;
}

}  // namespace tfabric::session
