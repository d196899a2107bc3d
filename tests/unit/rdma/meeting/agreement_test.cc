#include "transport/rdma/meeting/agreement.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <set>

#include "rails.h"

using namespace tfabric;
using namespace tfabric::rdma;
using namespace tfabric::rdma::meeting;
using Catch::Contains;

namespace {

using Rails = std::vector<OfferedRail>;
using Pairs = std::vector<std::pair<std::size_t, std::size_t>>;

Pairs pairs_of(const Rails& connector, const Rails& acceptor) {
  Pairs pairs;
  if (const auto agreement = agree(connector, acceptor)) {
    for (const RailPair& pair : *agreement) {
      pairs.emplace_back(pair.connector, pair.acceptor);
    }
  }
  return pairs;
}

// Applies the rules directly, independent of the order in which agree() searches.
bool can_talk(const OfferedRail& a, const OfferedRail& b) {
  if (a.link_layer != b.link_layer || a.gid_type != b.gid_type) {
    return false;
  }
  if (a.link_layer == LinkLayer::infiniband) {
    return config::same_prefix(a.gid, b.gid, 64);
  }
  return a.gid_type == GidType::roce_v1 || is_ipv4(a.gid) == is_ipv4(b.gid);
}

bool same_rail(const OfferedRail& a, const OfferedRail& b) {
  return can_talk(a, b) && a.rail_id >= 0 && a.rail_id == b.rail_id && a.plane_id == b.plane_id;
}

// Returns the greatest number of pairs for which `may` holds, by exhaustive search.
template <class May>
std::size_t most_pairs(const Rails& a, const Rails& b, May may, std::size_t i = 0, unsigned taken = 0) {
  if (i == a.size()) {
    return 0;
  }
  std::size_t most = most_pairs(a, b, may, i + 1, taken);
  for (std::size_t j = 0; j < b.size(); ++j) {
    if ((taken >> j & 1u) == 0 && may(a[i], b[j])) {
      most = std::max(most, 1 + most_pairs(a, b, may, i + 1, taken | 1u << j));
    }
  }
  return most;
}

struct Case {
  explicit Case(std::uint64_t seed) {
    SeededRandom random(seed);
    connector = random_rails(random);
    acceptor = random_rails(random);
  }
  Rails connector, acceptor;
};

constexpr std::uint64_t kSeeds = 5000;

}  // namespace

TEST_CASE("the pairs do not depend on which of the two ranks connects") {
  for (std::uint64_t seed = 0; seed < kSeeds; ++seed) {
    const Case ranks(seed);
    INFO("seed " << seed);
    Pairs back = pairs_of(ranks.acceptor, ranks.connector);
    for (auto& [first, second] : back) {
      std::swap(first, second);
    }
    std::sort(back.begin(), back.end());
    REQUIRE(pairs_of(ranks.connector, ranks.acceptor) == back);
  }
}

TEST_CASE("each rail has one partner that it can talk to, and none is left that could have had one") {
  for (std::uint64_t seed = 0; seed < kSeeds; ++seed) {
    const Case ranks(seed);
    const Rails &connector = ranks.connector, &acceptor = ranks.acceptor;
    INFO("seed " << seed);
    const Pairs pairs = pairs_of(connector, acceptor);
    std::set<std::size_t> left, right;
    for (const auto& [i, j] : pairs) {
      REQUIRE(left.insert(i).second);
      REQUIRE(right.insert(j).second);
      REQUIRE(can_talk(connector[i], acceptor[j]));
    }
    for (std::size_t i = 0; i < connector.size(); ++i) {
      for (std::size_t j = 0; j < acceptor.size(); ++j) {
        REQUIRE((left.count(i) + right.count(j) > 0 || !can_talk(connector[i], acceptor[j])));
      }
    }
  }
}

TEST_CASE("there are as many pairs as there can be, and as many within a rail of the network") {
  for (std::uint64_t seed = 0; seed < 500; ++seed) {
    const Case ranks(seed);
    const Rails &connector = ranks.connector, &acceptor = ranks.acceptor;
    INFO("seed " << seed);
    const Pairs pairs = pairs_of(connector, acceptor);
    REQUIRE(pairs.size() == most_pairs(connector, acceptor, can_talk));
    const auto within = std::count_if(pairs.begin(), pairs.end(), [&](const auto& pair) {
      return same_rail(connector[pair.first], acceptor[pair.second]);
    });
    REQUIRE(static_cast<std::size_t>(within) == most_pairs(connector, acceptor, same_rail));
  }
}

TEST_CASE("rails of the same number meet, wherever they stand") {
  const Rails a =
      Rails({with_rail_id(roce_rail("a0", "10.0.0.1"), 0), with_rail_id(roce_rail("a1", "10.0.1.1"), 1)});
  const Rails b =
      Rails({with_rail_id(roce_rail("b1", "10.0.0.2"), 1), with_rail_id(roce_rail("b0", "10.0.1.2"), 0)});
  REQUIRE(pairs_of(a, b) == Pairs{{0, 1}, {1, 0}});
}

TEST_CASE("without numbers rails of one subnet meet, then the others by position") {
  const Rails a =
      Rails({roce_rail("a0", "10.0.0.1"), roce_rail("a1", "10.0.1.1"), roce_rail("a2", "10.0.2.1")});
  const Rails b =
      Rails({roce_rail("b0", "10.0.2.2"), roce_rail("b1", "10.0.8.2"), roce_rail("b2", "10.0.9.2")});
  REQUIRE(pairs_of(a, b) == Pairs{{0, 1}, {1, 2}, {2, 0}});
}

TEST_CASE("rails whose numbers differ meet after all, since NCCL may connect any device with any other") {
  REQUIRE(pairs_of(Rails({with_rail_id(roce_rail("a", "10.0.0.1"), 0)}),
                   Rails({with_rail_id(roce_rail("b", "10.0.1.1"), 1)})) == Pairs{{0, 0}});
}

TEST_CASE("a rail without a partner is not used") {
  const Rails two = Rails({roce_rail("a0", "10.0.0.1"), roce_rail("a1", "10.0.0.2")});
  const Rails one = Rails({roce_rail("b0", "10.0.0.3")});
  REQUIRE(pairs_of(two, one) == Pairs{{0, 0}});
}

TEST_CASE("link layers never mix, nor InfiniBand's subnets, RoCE's versions, or the families of its v2") {
  OfferedRail v1 = roce_rail("v1", "10.0.0.1");
  v1.gid_type = GidType::roce_v1;
  const std::vector<OfferedRail> rails{roce_rail("v4", "10.0.0.1"), roce_rail("v6", "fd00::1"), v1,
                                       infiniband_rail("ib0", "fe80::"),
                                       infiniband_rail("ib1", "fe80:0:0:1::")};
  for (std::size_t i = 0; i < rails.size(); ++i) {
    for (std::size_t j = 0; j < rails.size(); ++j) {
      INFO(rails[i].hca << " and " << rails[j].hca);
      // Equal rail numbers do not help.
      const Rails a = Rails({with_rail_id(rails[i], 1)}), b = Rails({with_rail_id(rails[j], 1)});
      REQUIRE(agree(a, b).ok() == (i == j));
    }
  }
}

TEST_CASE("no rail in common is an error that names both lists and how to fix it") {
  const auto agreement =
      agree(Rails({roce_rail("mlx5_0", "10.0.0.5")}), Rails({infiniband_rail("mlx5_7", "fe80::")}));
  REQUIRE(agreement.error().code == Errc::invalid_usage);
  REQUIRE_THAT(agreement.error().message,
               Contains("the sender has mlx5_0:1 (RoCE, GID ::ffff:10.0.0.5, RoCE v2)") &&
                   Contains("the receiver has mlx5_7:1 (InfiniBand, GID fe80::9)") && Contains("rdma.hca") &&
                   Contains("NCCL_IB_HCA"));
}
