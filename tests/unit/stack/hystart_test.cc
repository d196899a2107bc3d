#include "transport/tcp/stack/hystart.h"

#include <catch2/catch.hpp>

using namespace tfabric;
using namespace tfabric::stack;
using namespace std::chrono_literals;

namespace {

// A round of ten acknowledgements, each with this round-trip time.
struct Rounds {
  bool round(Duration rtt) {
    bool over = false;
    const std::uint64_t end = una + 10'000;
    while (una < end) {
      over |= hystart.on_ack({.snd_una = una, .snd_nxt = end, .rtt = rtt});
      una += 1000;
    }
    return over;
  }
  HyStart hystart;
  std::uint64_t una = 0;
};

}  // namespace

TEST_CASE("a round-trip time that grows by an eighth slows slow start down, and five rounds later ends it") {
  Rounds rounds;
  for (int i = 0; i < 5; ++i) {
    REQUIRE_FALSE(rounds.round(8ms));
  }
  REQUIRE(rounds.hystart.growth(4000) == 4000);
  REQUIRE_FALSE(rounds.round(9ms));
  REQUIRE(rounds.hystart.conservative());
  REQUIRE(rounds.hystart.growth(4000) == 1000);
  for (int i = 0; i < 4; ++i) {
    REQUIRE_FALSE(rounds.round(9ms));
  }
  REQUIRE(rounds.round(9ms));
}

TEST_CASE("slow start goes on if the round-trip time falls again") {
  Rounds rounds;
  rounds.round(8ms);
  rounds.round(10ms);
  REQUIRE(rounds.hystart.conservative());
  rounds.round(8ms);
  REQUIRE_FALSE(rounds.hystart.conservative());
}

TEST_CASE("a few microseconds more on a short path are no queue") {
  Rounds rounds;
  rounds.round(30us);
  rounds.round(200us);
  REQUIRE_FALSE(rounds.hystart.conservative());
  rounds.round(450us);
  REQUIRE(rounds.hystart.conservative());
}

TEST_CASE("few samples prove nothing") {
  HyStart hystart;
  for (std::uint64_t round = 0; round < 6; ++round) {
    for (std::uint64_t i = 0; i < 7; ++i) {
      hystart.on_ack({.snd_una = round * 100, .snd_nxt = round * 100 + 100, .rtt = 1ms * (round + 1)});
    }
  }
  REQUIRE_FALSE(hystart.conservative());
}
