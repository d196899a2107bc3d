#include "transport/stripe/watch.h"

#include <catch2/catch.hpp>

using namespace tfabric;
using namespace tfabric::stripe;
using namespace std::chrono_literals;
using Step = Watch::Step;

namespace {

constexpr Instant kStart{std::chrono::hours(1)};
constexpr LaneId kDead{0}, kSister{1}, kOther{2};

// The second question about lane 0, over a lane that has answered the first, is answered at once.
void ask_again(Watch& watch, LaneId witness, Instant now) {
  CHECK(watch.due_questions(now) == std::vector{kDead});
  watch.asked(kDead, witness, 1000, 0us);
  watch.on_answered(witness, 1000, now);
}

// A watch that has asked about lane 0 over lane 1, up to position 100.
Watch asked_watch(Duration round_trip = 100us) {
  Watch watch;
  CHECK(watch.on_timeouts(kDead, 1) == Step::none);
  CHECK(watch.on_timeouts(kDead, 2) == Step::suspect);
  CHECK(watch.on_timeouts(kDead, 3) == Step::none);
  CHECK(watch.on_timeouts(kDead, 4) == Step::ask);
  watch.asked(kDead, kSister, 100, round_trip);
  return watch;
}

}  // namespace

TEST_CASE("a lane is dead when its witness has answered twice, and it is silent all the time") {
  const Duration round_trip = GENERATE(as<Duration>(), 100us, 20ms);
  const Duration grace = std::max<Duration>(10ms, 4 * round_trip);
  Watch watch = asked_watch(round_trip);
  CHECK(watch.due_questions(kStart + 1h).empty());
  CHECK(watch.on_answered(kSister, 99, kStart).empty());
  CHECK(watch.due_questions(kStart + 1h).empty());
  CHECK(watch.on_answered(kSister, 100, kStart) == std::vector{kDead});
  CHECK(watch.on_answered(kSister, 200, kStart + 5ms).empty());  // the first answer counts
  CHECK(watch.due_questions(kStart + grace - 1ns).empty());
  const Instant again = kStart + grace;
  CHECK(watch.due_questions(again) == std::vector{kDead});
  CHECK(watch.due_questions(again) == std::vector{kDead});  // it could not be sent
  CHECK_FALSE(watch.verdict(again + 1h));
  watch.asked(kDead, kSister, 300, round_trip);
  CHECK(watch.due_questions(again + 1h).empty());
  CHECK(watch.on_answered(kSister, 299, again).empty());
  CHECK_FALSE(watch.verdict(again + 1h));
  CHECK(watch.on_answered(kSister, 300, again).empty());
  CHECK_FALSE(watch.due_try(again + 1h));
  CHECK_FALSE(watch.verdict(again + grace / 4 - 1ns));
  const auto verdict = watch.verdict(again + grace / 4);
  REQUIRE(verdict);
  CHECK(verdict->dead == kDead);
  CHECK(verdict->witness == kSister);
  CHECK(watch.idle());
}

TEST_CASE("after the answer a suspect is tried four times in all before it is dead") {
  Watch watch = asked_watch();
  CHECK_FALSE(watch.due_try(kStart));
  CHECK(watch.on_answered(kSister, 100, kStart) == std::vector{kDead});  // the first try
  std::vector<Duration> tries;
  for (Duration time = 0us; watch.due_questions(kStart + time).empty(); time += 100us) {
    while (const auto suspect = watch.due_try(kStart + time)) {
      CHECK(*suspect == kDead);
      tries.push_back(time);
    }
  }
  CHECK(tries == std::vector<Duration>{2500us, 5ms, 7500us});
  CHECK_FALSE(watch.due_try(kStart + 1h));
}

TEST_CASE("a peer that answers once and is then without a processor loses no lane") {
  Watch watch = asked_watch();
  watch.on_answered(kSister, 100, kStart);
  watch.asked(kDead, kSister, 200, 0us);
  CHECK_FALSE(watch.verdict(kStart + 1h));
  CHECK(watch.acquit(kDead));
  watch.on_answered(kSister, 200, kStart + 1h);
  CHECK_FALSE(watch.verdict(kStart + 2h));
}

TEST_CASE("a lane that delivers something is acquitted, even after the answer") {
  Watch watch = asked_watch();
  watch.on_answered(kSister, 100, kStart);
  CHECK_FALSE(watch.acquit(kSister));
  CHECK(watch.suspects(kDead));
  CHECK(watch.acquit(kDead));
  CHECK_FALSE(watch.suspects(kDead));
  CHECK_FALSE(watch.verdict(kStart + 1h));
  CHECK(watch.on_timeouts(kDead, 2) == Step::suspect);
}

TEST_CASE("no answer is no verdict, and the question is not repeated while its witness lives") {
  Watch watch = asked_watch();
  CHECK(watch.on_timeouts(kDead, 5) == Step::none);
  CHECK_FALSE(watch.verdict(kStart + 24h));
  watch.forget(kSister);
  CHECK(watch.on_timeouts(kDead, 6) == Step::ask);
  watch.asked(kDead, kOther, 7, 0us);
  watch.on_answered(kSister, 1000, kStart);
  CHECK_FALSE(watch.verdict(kStart + 1h));
  watch.on_answered(kOther, 7, kStart);
  ask_again(watch, kSister, kStart + 1h);
  watch.forget(kSister);  // all begins anew
  CHECK_FALSE(watch.verdict(kStart + 2h));
  CHECK(watch.on_timeouts(kDead, 7) == Step::ask);
  watch.asked(kDead, kOther, 8, 0us);
  watch.on_answered(kOther, 8, kStart);
  ask_again(watch, kOther, kStart + 1h);
  CHECK(watch.verdict(kStart + 2h)->witness == kOther);
}

TEST_CASE("several lanes are suspected side by side, and one that is gone is forgotten") {
  Watch watch = asked_watch();
  CHECK(watch.on_timeouts(kOther, 2) == Step::suspect);
  CHECK(watch.on_timeouts(kOther, 4) == Step::ask);
  watch.asked(kOther, kSister, 120, 0us);
  watch.on_answered(kSister, 119, kStart);
  watch.forget(kDead);
  CHECK_FALSE(watch.verdict(kStart + 1h));
  watch.on_answered(kSister, 120, kStart);
  CHECK(watch.due_questions(kStart + 1h) == std::vector{kOther});
  watch.asked(kOther, kSister, 121, 0us);
  watch.on_answered(kSister, 121, kStart + 1h);
  CHECK(watch.verdict(kStart + 2h)->dead == kOther);
  CHECK_FALSE(watch.verdict(kStart + 1h));
}
