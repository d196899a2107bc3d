// Ways on which large packets vanish, in virtual time.
#include "transport/socket/small_paths.h"

#include <catch2/catch.hpp>

using namespace tfabric;
using namespace tfabric::socket;
using namespace std::chrono_literals;

namespace {

const net::IpAddress kHole = *net::parse_ip("10.0.0.7"), kSound = *net::parse_ip("10.0.0.8");
constexpr Instant kNow{1h};

// A hello has arrived, and the first piece does not.
LastView black_hole(std::uint32_t mss) {
  return {.mss = mss, .acked = 120, .delivered = 3, .outstanding = 200'000, .repeats = true};
}

}  // namespace

TEST_CASE("two connections in a row that bring small segments only are followed by some of smaller ones") {
  SmallPaths paths;
  CHECK_FALSE(paths.on_end(kHole, black_hole(8948), kNow));
  CHECK(paths.segment_to(kHole, kNow) == 0);
  CHECK(paths.on_end(kHole, black_hole(8948), kNow) == 1400);
  CHECK(paths.segment_to(kHole, kNow) == 1400);
  CHECK(paths.segment_to(kSound, kNow) == 0);
  SECTION("for a while") {
    CHECK(paths.segment_to(kHole, kNow + SmallPaths::kMemory - 1s) == 1400);
    CHECK(paths.segment_to(kHole, kNow + SmallPaths::kMemory) == 0);
  }
  SECTION("which those that began before do not change") {
    for (int i = 0; i < 4; ++i) {
      CHECK_FALSE(paths.on_end(kHole, black_hole(8948), kNow));
    }
    CHECK(paths.segment_to(kHole, kNow) == 1400);
  }
  SECTION("of ever smaller ones, down to what every host takes") {
    paths.on_end(kHole, black_hole(1400), kNow);
    CHECK(paths.on_end(kHole, black_hole(1400), kNow) == 1200);
    paths.on_end(kHole, black_hole(1200), kNow);
    CHECK(paths.on_end(kHole, black_hole(1200), kNow) == 536);
    for (int i = 0; i < 4; ++i) {
      CHECK_FALSE(paths.on_end(kHole, black_hole(536), kNow));
    }
    CHECK(paths.segment_to(kHole, kNow) == 536);
  }
}

TEST_CASE("a connection that ends for another reason shows no black hole") {
  SmallPaths paths;
  LastView last = black_hole(8948);
  SECTION("large segments have arrived") { last.acked = 1'000'000, last.delivered = 120; }
  SECTION("what is outstanding is small") { last.outstanding = 64; }
  SECTION("nothing is outstanding") { last.outstanding = 0; }
  SECTION("no time-out has come") { last.repeats = false; }
  SECTION("nothing has arrived") { last.acked = 0, last.delivered = 1; }
  SECTION("the kernel is too old to know") { last = {}; }
  for (int i = 0; i < 10; ++i) {
    CHECK_FALSE(paths.on_end(kHole, last, kNow));
  }
  CHECK(paths.segment_to(kHole, kNow) == 0);
}

TEST_CASE("a connection that brings large segments in between starts the count again") {
  SmallPaths paths;
  const LastView good{.mss = 8948, .acked = 50'000'000, .delivered = 6'000};
  for (int i = 0; i < 10; ++i) {
    CHECK_FALSE(paths.on_end(kHole, black_hole(8948), kNow));
    CHECK_FALSE(paths.on_end(kHole, good, kNow));
  }
}
