// That nothing goes wrong in any order of events, and that each rule is needed.
#include "tests/unit/stripe/burial_model.h"

#include <catch2/catch.hpp>
#include <string>
#include <vector>

#include "tests/sanitized.h"

using namespace tfabric;
using namespace tfabric::stripe;

namespace {

// What takes seconds otherwise takes minutes.
constexpr bool kSlow = tfabric::test::kSanitized;
constexpr std::size_t kMostStates = 20'000'000;

// Searches the whole space; returns the number of its states.
std::size_t all_states(const Space& space, const Rules& rules = {}) {
  const Finding found = search(space, rules, kMostStates);
  INFO(space.lanes << " lanes, " << space.sizes.size() << " messages, the first of " << space.sizes[0]
                   << " bytes, " << space.deaths << " deaths, " << space.opens << " lanes opened");
  INFO(found.events);
  REQUIRE(found.fault == "");
  REQUIRE(found.complete);
  CHECK(found.ends > 0);
  return found.states;
}

// Returns the fault that is found.
std::string fault(const Space& space, const Rules& rules) { return search(space, rules, kMostStates).fault; }

}  // namespace

TEST_CASE("with two lanes no order of events loses, repeats or garbles a message, or ends dead") {
  CHECK(all_states({.lanes = 2, .sizes = {128}, .deaths = 2}) > 400);
  CHECK(all_states({.lanes = 2, .sizes = {128, 128, 128}, .deaths = 2}) > 8000);
  CHECK(all_states({.lanes = 2, .sizes = {300, 1}, .deaths = 2}) > 3000);  // a piece may end at a line
}

TEST_CASE("nor with a message that is cut into pieces for both") {
  CHECK(all_states({.lanes = 2, .sizes = {17408}, .piece_bytes = 8704, .deaths = 2}) > 4000);
}

TEST_CASE("nor with receives that are posted at any time, for messages that come early or have to wait") {
  const std::size_t deaths = kSlow ? 1 : 2;
  CHECK(all_states({.lanes = 2, .sizes = {128, 256}, .deaths = 1, .posts_late = true}) > 2000);
  CHECK(all_states(
            {.lanes = 2, .sizes = {256, 128}, .deaths = deaths, .posts_late = true, .eager_bytes = 256}) >
        2000);
}

TEST_CASE("nor if the sender says that a lane is settled before it deals again what is missing") {
  CHECK(all_states({.lanes = 2, .sizes = {128, 128}, .deaths = 2}, {.settled_first = true}) > 1500);
}

TEST_CASE("nor with a lane that is opened when the only one has died") {
  CHECK(all_states({.lanes = 1, .sizes = {256}, .deaths = 1, .opens = 1}) > 100);
  CHECK(all_states({.lanes = 1, .sizes = {128, 128}, .deaths = 1, .opens = 1}) > 100);
}

TEST_CASE("nor with three lanes, or one that is opened while others die") {
  if (kSlow) {
    return;
  }
  CHECK(all_states({.lanes = 3, .sizes = {128}, .deaths = 2}) > 70'000);
  CHECK(all_states({.lanes = 2, .sizes = {128}, .deaths = 2, .opens = 1}) > 70'000);
  CHECK(all_states({.lanes = 2, .sizes = {256}, .deaths = 1, .opens = 1}) > 20'000);
}

TEST_CASE("nor in spaces that take minutes, by hand", "[.large]") {
  CHECK(all_states({.lanes = 3, .sizes = {128, 128}, .deaths = 1}) > 100'000);
  CHECK(all_states({.lanes = 2, .sizes = {128, 128}, .deaths = 1, .opens = 1}) > 100'000);
  CHECK(all_states({.lanes = 3, .sizes = {128, 128, 128}, .deaths = 1}) > 400'000);
  CHECK(all_states({.lanes = 2, .sizes = {128, 128}, .deaths = 2, .opens = 1}) > 100'000);
  CHECK(all_states({.lanes = 3, .sizes = {128, 128}, .deaths = 2}) > 100'000);
}

TEST_CASE("the search finds that the sender deals again without asking") {
  const Space space{.lanes = 2, .sizes = {128}, .deaths = 1};
  CHECK(fault(space, {.asks = false}).find("twice") != std::string::npos);
}

TEST_CASE("the search finds that the receiver goes on taking from a lane whose position it has told") {
  const Space space{.lanes = 2, .sizes = {128}, .deaths = 1};
  CHECK(fault(space, {.fences = false}).find("twice") != std::string::npos);
}

TEST_CASE("the search finds that each end asks or tells over one lane only, which the other has given up") {
  const Space space{.lanes = 3, .sizes = {128}, .deaths = 2, .messages_only = true};
  CHECK(fault(space, {.tells_all = false}) == "a dead end");
}

TEST_CASE("the search finds that nothing is repeated over a lane that opens") {
  const Space space{.lanes = 1, .sizes = {128}, .deaths = 1, .opens = 1, .messages_only = true};
  CHECK(fault(space, {.repeats = false}) == "a dead end");
}

TEST_CASE("the search finds that the receiver is not told that a lane is settled") {
  const Space space{.lanes = 2, .sizes = {128}, .deaths = 1};
  CHECK(fault(space, {.says_settled = false}) == "a burial is never over");
}
