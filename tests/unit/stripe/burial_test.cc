#include "transport/stripe/burial.h"

#include <catch2/catch.hpp>
#include <cstdint>
#include <vector>

using namespace tfabric;
using namespace tfabric::stripe;

namespace {

std::vector<std::uint32_t> serials(const auto& records) {
  std::vector<std::uint32_t> all;
  for (const auto& record : records) {
    all.push_back(record.serial.value);
  }
  return all;
}

std::vector<std::uint32_t> unanswered(const Burials& burials) {
  std::vector<std::uint32_t> all;
  for (const LaneSerial serial : burials.unanswered()) {
    all.push_back(serial.value);
  }
  return all;
}

}  // namespace

TEST_CASE("a lane that the sender has closed is asked for until the first answer, which settles it") {
  Burials burials;
  CHECK(burials.empty());
  burials.begin({5}, {0}, /*fenced=*/true);
  burials.begin({7}, {3}, /*fenced=*/true);
  CHECK(unanswered(burials) == std::vector<std::uint32_t>{5, 7});
  CHECK(burials.answered({7}, 100)->lane == LaneId{3});
  CHECK(unanswered(burials) == std::vector<std::uint32_t>{5});
  CHECK_FALSE(burials.answered({7}, 100).has_value());  // over another lane
  CHECK_FALSE(burials.answered({6}, 0).has_value());    // never asked for
  CHECK(burials.answered({5}, 200)->position == 200);
  CHECK(burials.empty());
}

TEST_CASE("a lane that is being fenced is not asked for, and settled only when that is through") {
  Burials burials;
  burials.begin({5}, {0}, /*fenced=*/false);
  CHECK(unanswered(burials).empty());
  CHECK_FALSE(burials.empty());
  SECTION("the receiver answers before") {
    CHECK_FALSE(burials.answered({5}, 300).has_value());
    CHECK(burials.awaits_fence({5}));
    const auto settlement = burials.fenced({5});
    REQUIRE(settlement.has_value());
    CHECK(settlement->lane == LaneId{0});
    CHECK(settlement->position == 300);
    CHECK(burials.empty());
  }
  SECTION("and afterwards, when it is asked") {
    CHECK_FALSE(burials.fenced({5}).has_value());
    CHECK_FALSE(burials.awaits_fence({5}));
    CHECK(unanswered(burials) == std::vector<std::uint32_t>{5});
    CHECK(burials.answered({5}, 300)->position == 300);
  }
}

TEST_CASE("a lane's number may be used again while an older lane of that number is settled") {
  Burials burials;
  burials.begin({1}, {2}, /*fenced=*/true);
  CHECK(burials.answered({1}, 0)->lane == LaneId{2});
  burials.begin({9}, {2}, /*fenced=*/true);
  CHECK_FALSE(burials.answered({1}, 0).has_value());  // late
  CHECK(burials.answered({9}, 0)->lane == LaneId{2});
}

TEST_CASE(
    "a lane that the receiver has closed keeps its position, for repeated answers, until it is settled") {
  Graves graves;
  CHECK(graves.unsettled().empty());
  graves.add({3}, 1000);
  graves.add({4}, std::uint64_t{1} << 40);
  CHECK(serials(graves.unsettled()) == std::vector<std::uint32_t>{3, 4});
  CHECK(graves.position_of({3}) == 1000);
  CHECK(graves.position_of({3}) == 1000);  // asked again, over another lane
  CHECK(graves.position_of({4}) == std::uint64_t{1} << 40);
  CHECK_FALSE(graves.position_of({5}).has_value());
  graves.settled({3});
  CHECK(serials(graves.unsettled()) == std::vector<std::uint32_t>{4});
  CHECK_FALSE(graves.position_of({3}).has_value());  // the question was late
  graves.settled({3});                               // again, over another lane
  graves.settled({9});                               // never closed
  CHECK(serials(graves.unsettled()) == std::vector<std::uint32_t>{4});
}

TEST_CASE("no lane begins under the serial of one that was closed, settled or not") {
  Graves graves;
  CHECK_FALSE(graves.forbids({3}));
  graves.add({3}, 0);
  CHECK(graves.forbids({3}));
  graves.settled({3});
  CHECK(graves.forbids({3}));
  CHECK_FALSE(graves.forbids({2}));  // it may still live, or its hello be under way
  CHECK_FALSE(graves.forbids({4}));
  CHECK(graves.forbids({0}));  // the sender counts from 1
}

TEST_CASE("of thousands of closed lanes the oldest are forbidden together, with all before them") {
  constexpr std::uint32_t kRemembered = 4096;
  Graves graves;
  for (std::uint32_t serial = 2; serial < 2 + kRemembered; ++serial) {
    graves.add({serial}, serial);
    graves.settled({serial});
  }
  CHECK_FALSE(graves.forbids({1}));
  CHECK(graves.forbids({2}));
  graves.add({kRemembered + 10}, 5);  // the oldest is forgotten
  CHECK(graves.forbids({1}));
  CHECK(graves.forbids({2}));
  CHECK(graves.forbids({3}));
  CHECK(graves.forbids({1 + kRemembered}));
  CHECK_FALSE(graves.forbids({kRemembered + 9}));
  CHECK(graves.forbids({kRemembered + 10}));
  CHECK_FALSE(graves.forbids({kRemembered + 11}));
  for (std::uint32_t serial = 20'000; serial < 20'000 + kRemembered; ++serial) {
    graves.add({serial}, serial);
  }
  CHECK(graves.forbids({kRemembered + 9}));
  CHECK(graves.position_of({kRemembered + 10}) == 5);  // forgotten among the closed, but not settled
}

TEST_CASE("an old lane that dies after thousands of younger ones is reported and settled like any other") {
  Graves graves;
  for (std::uint32_t serial = 2; serial < 5000; ++serial) {
    graves.add({serial}, 0);
    graves.settled({serial});
  }
  graves.add({1}, 77);
  CHECK(graves.position_of({1}) == 77);
  CHECK(serials(graves.unsettled()) == std::vector<std::uint32_t>{1});
  CHECK(graves.forbids({1}));
  CHECK(graves.forbids({4999}));
}
