#include "transport/tcp/link/reply_budget.h"

#include <catch2/catch.hpp>
#include <set>

using namespace tfabric;
using namespace tfabric::link;
using namespace std::chrono_literals;

TEST_CASE("replies are bounded in rate, and by how many at once is not to be foretold") {
  constexpr Instant kStart{std::chrono::hours(1)};
  std::set<int> bursts;
  for (std::uint64_t seed = 0; seed < 50; ++seed) {
    ReplyBudget budget(/*per_second=*/100, /*burst=*/20, seed);
    int burst = 0;
    while (budget.take(kStart)) {
      REQUIRE(++burst < 1000);
    }
    bursts.insert(burst);
    int later = 0;
    for (Instant now = kStart; now < kStart + 100s; now += 1ms) {
      later += budget.take(now) ? 1 : 0;
    }
    CHECK(later > 9000);
    CHECK(later < 11000);
  }
  CHECK(bursts.size() > 5);
}
