#include "transport/tcp/session/pairing.h"

#include <algorithm>

namespace tfabric::tcp {
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

// Rail i with rail i + `shift`, unless the two meet already.
void pair_up(const Positions& ours, const Positions& theirs, std::size_t shift, RouteClass rank,
             std::vector<RailPair>& pairs) {
  const bool both = !ours.empty() && !theirs.empty();
  for (std::size_t i = 0; both && i < std::max(ours.size(), theirs.size()); ++i) {
    const RailPair pair{ours[i % ours.size()], theirs[(i + shift) % theirs.size()], rank};
    const bool known = std::any_of(pairs.begin(), pairs.end(), [&](const RailPair& other) {
      return other.ours == pair.ours && other.theirs == pair.theirs;
    });
    if (!known) {
      pairs.push_back(pair);
    }
  }
}

void pair_kind(std::span<const RailEnd> ours, std::span<const RailEnd> theirs, bool by_kernel,
               std::vector<RailPair>& pairs) {
  const auto own = [&](const RailEnd& end) {
    return end.by_kernel == by_kernel && end.role == RailRole::own;
  };
  const auto other = [&](const RailEnd& end) {
    return end.by_kernel == by_kernel && end.role != RailRole::own;
  };
  const Positions our_own = positions(ours, own), their_own = positions(theirs, own);
  pair_up(our_own, their_own, 0, RouteClass::own, pairs);
  // One step further is enough: of three rails or more, two that are lost leave a pair of counterparts.
  pair_up(our_own, their_own, 1, RouteClass::cross, pairs);
  const Positions our_others = positions(ours, other), their_others = positions(theirs, other);
  if (!our_others.empty() || !their_others.empty()) {
    pair_up(our_others.empty() ? our_own : our_others, their_others.empty() ? their_own : their_others, 0,
            by_kernel ? RouteClass::lifeboat : RouteClass::reserve, pairs);
  }
}

}  // namespace

std::vector<RailPair> pair_rails(std::span<const RailEnd> ours, std::span<const RailEnd> theirs) {
  std::vector<RailPair> pairs;
  for (const bool by_kernel : {false, true}) {
    pair_kind(ours, theirs, by_kernel, pairs);
  }
  std::stable_sort(pairs.begin(), pairs.end(),
                   [](const RailPair& a, const RailPair& b) { return a.rank < b.rank; });
  return pairs;
}

}  // namespace tfabric::tcp
