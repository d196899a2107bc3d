#include "transport/tcp/session/pairing.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <set>
#include <utility>
#include <vector>

using namespace tfabric::tcp;
using Rails = std::vector<RailEnd>;
using Pairs = std::vector<RailPair>;

namespace {

constexpr RailEnd kOwn{}, kReserve{.role = RailRole::reserve},
    kLifeboat{.by_kernel = true, .role = RailRole::lifeboat}, kKernel{.by_kernel = true};

Rails rails_of(std::size_t number) {
  Rails rails;
  for (; number > 0; number /= 4) {
    rails.push_back(std::vector{kOwn, kReserve, kLifeboat, kKernel}[number % 4]);
  }
  return rails;
}

}  // namespace

TEST_CASE("rails meet their counterparts, and each other's only if those are lost") {
  const auto own = RouteClass::own, cross = RouteClass::cross;
  CHECK(pair_rails(Rails{kOwn}, Rails{kOwn}) == Pairs{{0, 0, own}});
  CHECK(pair_rails(Rails{kOwn, kOwn}, Rails{kOwn, kOwn}) ==
        Pairs{{0, 0, own}, {1, 1, own}, {0, 1, cross}, {1, 0, cross}});
  CHECK(pair_rails(Rails{kOwn}, Rails{kOwn, kOwn}) == Pairs{{0, 0, own}, {0, 1, own}});
}

TEST_CASE("rails in reserve and life-boats come last, and need no counterpart of their own role") {
  const auto own = RouteClass::own, reserve = RouteClass::reserve, lifeboat = RouteClass::lifeboat;
  CHECK(pair_rails(Rails{kOwn, kLifeboat, kReserve}, Rails{kOwn, kLifeboat, kReserve}) ==
        Pairs{{0, 0, own}, {2, 2, reserve}, {1, 1, lifeboat}});
  CHECK(pair_rails(Rails{kOwn, kReserve}, Rails{kOwn}) == Pairs{{0, 0, own}, {1, 0, reserve}});
  CHECK(pair_rails(Rails{kOwn}, Rails{kOwn, kReserve}) == Pairs{{0, 0, own}, {0, 1, reserve}});
  // A host without NICs for tfabric, and one that has some.
  CHECK(pair_rails(Rails{kKernel}, Rails{kOwn, kLifeboat}) == Pairs{{0, 1, lifeboat}});
}

TEST_CASE("rails of our own TCP and of the kernel's never meet") {
  CHECK(pair_rails(Rails{kOwn}, Rails{kKernel}).empty());
  CHECK(pair_rails(Rails{kOwn, kKernel}, Rails{kKernel, kOwn}) ==
        Pairs{{0, 1, RouteClass::own}, {1, 0, RouteClass::own}});
}

TEST_CASE("whatever rails two processes have, a pair comes once, and each rail that can meet one does") {
  for (std::size_t a = 0; a < 256; ++a) {
    for (std::size_t b = 0; b < 256; ++b) {
      const Rails ours = rails_of(a), theirs = rails_of(b);
      const Pairs pairs = pair_rails(ours, theirs);
      std::set<std::pair<std::size_t, std::size_t>> met;
      std::set<std::size_t> used;
      for (const RailPair& pair : pairs) {
        REQUIRE(ours.at(pair.ours).by_kernel == theirs.at(pair.theirs).by_kernel);
        REQUIRE(met.insert({pair.ours, pair.theirs}).second);
        used.insert(pair.ours);
      }
      REQUIRE(std::is_sorted(pairs.begin(), pairs.end(),
                             [](const RailPair& x, const RailPair& y) { return x.rank < y.rank; }));
      for (std::size_t i = 0; i < ours.size(); ++i) {
        const bool can = std::any_of(theirs.begin(), theirs.end(), [&](const RailEnd& end) {
          return end.by_kernel == ours[i].by_kernel && end.role == ours[i].role;
        });
        REQUIRE((!can || used.contains(i)));
      }
    }
  }
}
