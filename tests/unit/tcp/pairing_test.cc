#include "transport/session/pairing.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <cstddef>
#include <initializer_list>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

using namespace tfabric::session;
using Rails = std::vector<RailEnd>;
using Pairs = std::vector<RailPair>;

namespace {

const RailEnd kOwn{}, kReserve{.role = RailRole::reserve}, kLifeboat{.kind = 1, .role = RailRole::lifeboat},
    kKernel{.kind = 1};

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
        REQUIRE(ours.at(pair.ours).kind == theirs.at(pair.theirs).kind);
        REQUIRE(met.insert({pair.ours, pair.theirs}).second);
        used.insert(pair.ours);
      }
      REQUIRE(std::is_sorted(pairs.begin(), pairs.end(),
                             [](const RailPair& x, const RailPair& y) { return x.rank < y.rank; }));
      for (std::size_t i = 0; i < ours.size(); ++i) {
        const bool can = std::any_of(theirs.begin(), theirs.end(), [&](const RailEnd& end) {
          return end.kind == ours[i].kind && end.role == ours[i].role;
        });
        REQUIRE((!can || used.contains(i)));
      }
    }
  }
}

namespace {

RailEnd at(std::initializer_list<const char*> addresses, std::uint8_t kind = 0) {
  RailEnd end{.kind = kind};
  for (const char* text : addresses) {
    end.addresses.push_back(*tfabric::net::parse_prefix(text));
  }
  return end;
}

// The rails of host `host` on these networks of /24.
Rails on(const std::vector<int>& networks, int host) {
  Rails rails;
  for (const int network : networks) {
    const std::string text = "10.9." + std::to_string(network) + "." +
                             std::to_string(host + 2 * static_cast<int>(rails.size())) + "/24";
    rails.push_back(at({text.c_str()}));
  }
  return rails;
}

// The pairs of a class, as (host a's, host b's).
std::set<std::pair<std::size_t, std::size_t>> of_class(const Pairs& pairs, RouteClass rank, bool mirrored) {
  std::set<std::pair<std::size_t, std::size_t>> found;
  for (const RailPair& pair : pairs) {
    if (pair.rank == rank) {
      found.insert(mirrored ? std::pair(pair.theirs, pair.ours) : std::pair(pair.ours, pair.theirs));
    }
  }
  return found;
}

}  // namespace

TEST_CASE("rails meet those of their own network, whatever the order of the lists") {
  const auto own = RouteClass::own;
  CHECK(of_class(pair_rails(on({0, 1, 2, 3}, 1), on({2, 3, 0, 1}, 2)), own, false) ==
        std::set<std::pair<std::size_t, std::size_t>>{{0, 2}, {1, 3}, {2, 0}, {3, 1}});
  // In one network, and in none, by place.
  CHECK(of_class(pair_rails(on({5, 5}, 1), on({5, 5}, 2)), own, false) ==
        std::set<std::pair<std::size_t, std::size_t>>{{0, 0}, {1, 1}});
  CHECK(of_class(pair_rails(on({1, 2, 3}, 1), on({4, 5, 6}, 2)), own, false) ==
        std::set<std::pair<std::size_t, std::size_t>>{{0, 0}, {1, 1}, {2, 2}});
  // One network in common, and the rest by place.
  CHECK(of_class(pair_rails(on({1, 2, 3}, 1), on({4, 5, 1}, 2)), own, false) ==
        std::set<std::pair<std::size_t, std::size_t>>{{0, 2}, {1, 1}, {2, 0}});
}

TEST_CASE("of several prefixes that hold an address the longest counts") {
  const Rails ours{at({"10.0.0.1/8"}), at({"10.1.0.1/16"})};
  CHECK(of_class(pair_rails(ours, Rails{at({"10.1.0.2/16"}), at({"10.2.0.2/8"})}), RouteClass::own, false) ==
        std::set<std::pair<std::size_t, std::size_t>>{{1, 0}, {0, 1}});
}

TEST_CASE("a lost rail's stand-in is one of its own network if there is one") {
  const Pairs pairs = pair_rails(on({0, 0, 1, 1}, 1), on({1, 1, 0, 0}, 2));
  CHECK(of_class(pairs, RouteClass::own, false) ==
        std::set<std::pair<std::size_t, std::size_t>>{{0, 3}, {1, 2}, {2, 1}, {3, 0}});
  CHECK(of_class(pairs, RouteClass::cross, false) ==
        std::set<std::pair<std::size_t, std::size_t>>{{0, 2}, {1, 3}, {2, 0}, {3, 1}});
}

TEST_CASE("rails without a family in common do not meet") {
  const RailEnd v4 = at({"10.0.0.1/24"}), v6 = at({"fd00::1/64"}), both = at({"10.0.0.2/24", "fd00::2/64"});
  CHECK_FALSE(nearness(v4, v6));
  CHECK(nearness(v4, both) == 96 + 24 + 1);
  CHECK(nearness(v6, both) == 64 + 1);
  CHECK(nearness(v4, at({"10.0.1.1/24"})) == 0);
  CHECK(nearness(v4, RailEnd{}) == 0);
  CHECK(pair_rails(Rails{v4}, Rails{v6}).empty());
  CHECK(pair_rails(Rails{v4, v6}, Rails{v6, v4}) == Pairs{{0, 1, RouteClass::own}, {1, 0, RouteClass::own}});
}

TEST_CASE(
    "whatever networks two hosts have, both come to the same pairs, and none meets two before each has one") {
  constexpr int kNetworks = 3;
  constexpr std::size_t kMost = 4;
  std::vector<std::vector<int>> lists{{}};
  for (std::size_t i = 0; i < lists.size(); ++i) {
    for (int network = 0; network < kNetworks && lists[i].size() < kMost; ++network) {
      lists.push_back(lists[i]);
      lists.back().push_back(network);
    }
  }
  for (const auto& first : lists) {
    for (const auto& second : lists) {
      const Rails a = on(first, 1), b = on(second, 2);
      const Pairs seen_by_a = pair_rails(a, b), seen_by_b = pair_rails(b, a);
      const auto pairs = of_class(seen_by_a, RouteClass::own, false);
      REQUIRE(pairs == of_class(seen_by_b, RouteClass::own, true));
      REQUIRE(pairs.size() == (a.empty() || b.empty() ? 0 : std::max(a.size(), b.size())));
      std::map<std::size_t, std::size_t> ours, theirs;
      for (const auto& [own, other] : pairs) {
        ++ours[own];
        ++theirs[other];
      }
      if (!pairs.empty()) {
        REQUIRE(ours.size() == a.size());
        REQUIRE(theirs.size() == b.size());
      }
      for (const auto& [place, times] : a.size() < b.size() ? ours : theirs) {
        REQUIRE(times <= (std::max(a.size(), b.size()) + std::min(a.size(), b.size()) - 1) /
                             std::min(a.size(), b.size()));
      }
      // As many meet in their own networks as can.
      const auto in_network =
          static_cast<std::size_t>(std::count_if(pairs.begin(), pairs.end(), [&](const auto& pair) {
            return first[pair.first] == second[pair.second];
          }));
      std::size_t possible = 0;
      for (int network = 0; network < kNetworks; ++network) {
        possible += static_cast<std::size_t>(std::min(std::count(first.begin(), first.end(), network),
                                                      std::count(second.begin(), second.end(), network)));
      }
      REQUIRE(in_network >= possible);
      const Pairs one_to_one = pair_one_to_one(a, b);
      REQUIRE(one_to_one.size() == std::min(a.size(), b.size()));
    }
  }
}
