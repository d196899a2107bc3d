#include "transport/engine/link_watch.h"

#include <catch2/catch.hpp>
#include <random>

using namespace tfabric;
using namespace tfabric::engine;
using namespace std::chrono_literals;
using News = LinkWatch::News;

namespace {

constexpr Instant kBegin{};

// Looks each millisecond in [from, to), and returns how often there were news of this kind.
int count(LinkWatch& watch, bool up, Instant from, Instant to, News wanted) {
  int found = 0;
  for (Instant now = from; now < to; now += 1ms) {
    found += watch.look(up, now) == wanted ? 1 : 0;
  }
  return found;
}

}  // namespace

TEST_CASE("a link that has never been up is not away") {
  LinkWatch watch;
  CHECK(count(watch, false, kBegin, kBegin + 5s, News::none) == 5000);
  CHECK_FALSE(watch.away_since());
}

TEST_CASE("a link that was missing at the start is away until it is there, and only that is said") {
  LinkWatch watch;
  watch.start_away(kBegin);
  CHECK(watch.away_since() == kBegin);
  CHECK(count(watch, false, kBegin, kBegin + 5s, News::none) == 5000);
  CHECK(watch.look(true, kBegin + 5s) == News::back);
  CHECK(watch.last_absence() == 5s);
  CHECK(watch.absences() == 1);
}

TEST_CASE("an absence of milliseconds is reported when it is over, with its length") {
  LinkWatch watch;
  watch.look(true, kBegin);
  CHECK(count(watch, false, kBegin + 10ms, kBegin + 22ms, News::none) == 12);
  CHECK(watch.away_since() == kBegin + 10ms);
  CHECK(watch.look(true, kBegin + 22ms) == News::back);
  CHECK(watch.last_absence() == 12ms);
  CHECK(watch.absences() == 1);
  CHECK_FALSE(watch.away_since());
}

TEST_CASE("a long absence is reported once while it lasts, and once when it is over") {
  LinkWatch watch;
  for (int i = 0; i < 3; ++i) {
    const Instant begin = kBegin + i * 6s;
    watch.look(true, begin);
    CHECK(count(watch, false, begin + 1ms, begin + 5s, News::away) == 1);
    CHECK(watch.look(true, begin + 5s) == News::back);
    CHECK(watch.last_absence() == 5s - 1ms);
  }
}

TEST_CASE("a link that comes and goes fills no log, and each absence is counted in some report") {
  const unsigned seed = GENERATE(range(1u, 21u));
  INFO("seed " << seed);
  std::mt19937 random(seed);
  std::uniform_int_distribution<int> milliseconds(1, 200);
  LinkWatch watch;
  Instant now = kBegin;
  watch.look(true, now);
  std::uint64_t absences = 0, reported = 0, reports = 0;
  while (now < kBegin + 100s) {
    now += std::chrono::milliseconds(milliseconds(random));
    REQUIRE(watch.look(false, now) == News::none);
    ++absences;
    now += std::chrono::milliseconds(milliseconds(random));
    if (watch.look(true, now) == News::back) {
      ++reports;
      reported += watch.absences();
    }
  }
  CHECK(reports <= 11);
  now += LinkWatch::kQuiet;
  watch.look(false, now);
  REQUIRE(watch.look(true, now + 1ms) == News::back);
  CHECK(reported + watch.absences() == absences + 1);
}
