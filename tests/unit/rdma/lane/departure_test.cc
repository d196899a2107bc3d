#include "transport/rdma/lane/departure.h"

#include <catch2/catch.hpp>

using namespace tfabric;
using namespace tfabric::rdma;
using namespace std::chrono_literals;
using State = Departure::State;

namespace {

Instant at(Duration time) { return Instant(1h + time); }

}  // namespace

TEST_CASE("a peer of which nothing is acknowledged for long enough has gone") {
  Departure departure;
  REQUIRE(departure.state() == State::none);
  for (Duration time = 0ms; time < Departure::kPatience; time += Departure::kInterval) {
    REQUIRE(departure.look(at(time), 7) == State::doubt);
  }
  REQUIRE(departure.look(at(Departure::kPatience), 7) == State::gone);
  REQUIRE(departure.look(at(1h), 8) == State::gone);
}

TEST_CASE("what is acknowledged long after the close shows that the peer is there") {
  Departure departure;
  std::uint64_t completions = 7;
  Duration time{};
  for (; time <= Departure::kGrace; time += Departure::kInterval) {  // it may have been under way
    REQUIRE(departure.look(at(time), completions++) == State::doubt);
  }
  REQUIRE(departure.look(at(time), completions) == State::stays);
  REQUIRE(departure.look(at(time + 1h), completions) == State::stays);
}

TEST_CASE("what was acknowledged at first puts the end off, and nothing more") {
  Departure departure;
  REQUIRE(departure.look(at(0ms), 7) == State::doubt);
  REQUIRE(departure.look(at(100ms), 8) == State::doubt);
  for (Duration time = 200ms; time < 2100ms; time += Departure::kInterval) {
    REQUIRE(departure.look(at(time), 8) == State::doubt);
  }
  REQUIRE(departure.look(at(2100ms), 8) == State::gone);
}

TEST_CASE("time in which nobody has looked does not count") {
  Departure departure;
  REQUIRE(departure.look(at(0ms), 7) == State::doubt);
  REQUIRE(departure.look(at(1h), 7) == State::doubt);
  REQUIRE(departure.look(at(2h), 8) == State::doubt);
}
