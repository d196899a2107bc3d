#include "transport/witness/standing.h"

#include <catch2/catch.hpp>

using namespace tfabric;
using namespace tfabric::witness;
using namespace std::chrono_literals;

namespace {

Instant at(Duration time) { return Instant(time); }

Standing connected() {
  Standing standing;
  standing.connected();
  return standing;
}

// Since 10 s.
Standing stopped() {
  Standing standing = connected();
  standing.want(at(10s));
  static_cast<void>(standing.next_question(at(10s)));
  standing.acknowledged();
  return standing;
}

View view_after(Standing& standing, Instant now, const Standing::Lanes& lanes = {}) {
  standing.look(now, lanes);
  return standing.view(now);
}

}  // namespace

TEST_CASE("without a connection nothing is known") { REQUIRE(Standing().view(at(1h)) == View::unknown); }

TEST_CASE("a peer with a connection is alive as long as no question is open") {
  Standing standing = connected();
  REQUIRE_FALSE(standing.next_question(at(1h)));
  REQUIRE(standing.view(at(1h)) == View::alive);
}

TEST_CASE(
    "a connection that was closed in order means the process's end, when what it had sent has arrived") {
  Standing standing = connected();
  standing.closed(at(10s), /*in_order=*/true, /*checking=*/false);
  REQUIRE(view_after(standing, at(10s + 499ms)) == View::closing);
  REQUIRE(standing.in_doubt());
  REQUIRE(view_after(standing, at(10s + 500ms)) == View::ended);
  REQUIRE_FALSE(standing.in_doubt());
}

TEST_CASE(
    "a connection that was reset means the process's end later, since firewalls reset connections, too") {
  Standing standing = connected();
  standing.closed(at(10s), /*in_order=*/false, /*checking=*/false);
  REQUIRE(view_after(standing, at(11s + 999ms)) == View::closing);
  REQUIRE(view_after(standing, at(12s)) == View::ended);
}

TEST_CASE("while the process is dialled once more, its end waits for that, but not for ever") {
  Standing standing = connected();
  standing.closed(at(10s), /*in_order=*/true, /*checking=*/true);
  REQUIRE(view_after(standing, at(13s + 499ms)) == View::closing);
  Standing refused = standing;
  REQUIRE(view_after(standing, at(13s + 500ms)) == View::ended);
  refused.check_failed(at(13s + 499ms));
  REQUIRE(view_after(refused, at(13s + 499ms)) == View::ended);
}

TEST_CASE("a process that answers over a lane runs, and what comes without a question puts its end off") {
  const bool in_order = GENERATE(true, false);
  Standing standing = connected();
  standing.closed(at(10s), in_order, /*checking=*/false);
  for (Duration time = 10s; time < 20s; time += 100ms) {
    REQUIRE(view_after(standing, at(time), {.living = true, .heard = true}) == View::closing);
  }
  Standing silent = standing;
  REQUIRE(view_after(silent, at(22s), {.living = true}) == View::ended);
  REQUIRE(view_after(silent, at(23s), {.living = true, .heard = true, .answered = true}) == View::ended);

  REQUIRE_FALSE(standing.runs_without());
  REQUIRE(view_after(standing, at(20s), {.living = true, .heard = true, .answered = true}) == View::lost);
  REQUIRE(standing.runs_without());
  REQUIRE_FALSE(standing.in_doubt());
  REQUIRE(view_after(standing, at(1h)) == View::lost);
  standing.connected();
  REQUIRE(standing.view(at(1h)) == View::alive);
  REQUIRE_FALSE(standing.runs_without());
}

TEST_CASE("an answer over a lane does not end the dial by which the connection may be made again") {
  Standing standing = connected();
  standing.closed(at(10s), /*in_order=*/false, /*checking=*/true);
  REQUIRE(view_after(standing, at(11s), {.living = true, .answered = true}) == View::closing);
  REQUIRE(view_after(standing, at(13s + 500ms), {.living = true, .answered = true}) == View::lost);
}

TEST_CASE("a process to whose host's kernel the connection was closed is stopped if it was") {
  Standing standing = stopped();
  standing.closed(at(20s), /*in_order=*/false, /*checking=*/false);
  REQUIRE(standing.view(at(20s)) == View::stopped);
  SECTION("while a lane lives, its end cannot be known") {
    REQUIRE(view_after(standing, at(22s), {.living = true}) == View::stopped);
    REQUIRE(view_after(standing, at(1h)) == View::stopped);
    REQUIRE(standing.stopped_since() == at(10s));
    REQUIRE(standing.in_doubt());
    REQUIRE(view_after(standing, at(2h), {.living = true, .answered = true}) == View::lost);
  }
  SECTION("without a lane it has ended") { REQUIRE(view_after(standing, at(22s)) == View::ended); }
}

TEST_CASE("a process whose kernel takes the dial, and that does not answer it, is stopped") {
  Standing standing = connected();
  standing.closed(at(10s), /*in_order=*/true, /*checking=*/true);
  standing.check_taken();
  REQUIRE(view_after(standing, at(13s)) == View::closing);
  REQUIRE(view_after(standing, at(14s)) == View::stopped);
  REQUIRE(standing.stopped_since() == at(10s));
  SECTION("until it answers") {
    standing.refute();
    REQUIRE(standing.view(at(20s)) == View::unknown);
  }
  SECTION("until that connection ends, too") {
    standing.check_failed(at(20s));
    REQUIRE(view_after(standing, at(20s)) == View::stopped);
    REQUIRE(view_after(standing, at(20s + 500ms)) == View::ended);
  }
}

TEST_CASE("what the connection says, or its end is about to, is better than what others do") {
  Standing standing;
  REQUIRE_FALSE(standing.vouches(at(1s)));
  standing = connected();
  REQUIRE(standing.vouches(at(1s)));
  REQUIRE(stopped().vouches(at(20s)));
  standing.want(at(2s));
  REQUIRE_FALSE(standing.vouches(at(3s)));  // not even the kernel answers
  standing.closed(at(4s), /*in_order=*/false, /*checking=*/false);
  REQUIRE(standing.vouches(at(5s)));
  REQUIRE(view_after(standing, at(5s), {.living = true, .answered = true}) == View::lost);
  REQUIRE_FALSE(standing.vouches(at(5s)));
}

TEST_CASE("a process that answers after its connection was closed has not ended") {
  Standing standing = connected();
  standing.closed(at(10s), /*in_order=*/true, /*checking=*/true);
  standing.refute();
  REQUIRE(standing.view(at(1h)) == View::unknown);
  standing.connected();
  REQUIRE(standing.view(at(1h)) == View::alive);
}

TEST_CASE("a host that is not heard any more says nothing of the process") {
  Standing standing = connected();
  standing.lost();
  REQUIRE(standing.view(at(1h)) == View::lost);
  standing.refute();
  REQUIRE(standing.view(at(1h)) == View::lost);
}

TEST_CASE(
    "a question that is answered in time leaves the peer alive, and the next one follows after a pause") {
  Standing standing = connected();
  standing.want(at(10s));
  REQUIRE(standing.view(at(10s)) == View::asked);
  const auto first = standing.next_question(at(10s));
  REQUIRE(first);
  REQUIRE_FALSE(standing.next_question(at(10s)));
  standing.answered(*first + 1, at(10s + 1ms));
  REQUIRE(standing.has_open_question());
  standing.answered(*first, at(10s + 2ms));
  REQUIRE(standing.view(at(10s + 2ms)) == View::alive);
  REQUIRE_FALSE(standing.next_question(at(10s + 251ms)));
  const auto second = standing.next_question(at(10s + 252ms));
  REQUIRE(second);
  REQUIRE(*second != *first);
  standing.answered(*second, at(10s + 253ms));
  REQUIRE_FALSE(standing.next_question(at(13s)));
}

TEST_CASE("a question that only the kernel acknowledges means that the process is stopped") {
  Standing standing = connected();
  standing.want(at(10s));
  const auto nonce = standing.next_question(at(10s));
  standing.acknowledged();
  REQUIRE(standing.view(at(10s + 999ms)) == View::asked);
  REQUIRE(standing.view(at(11s)) == View::stopped);
  REQUIRE(standing.stopped_since() == at(10s));
  // For as long as it is, whether it is asked again or not.
  REQUIRE_FALSE(standing.next_question(at(100s)));
  standing.want(at(100s));
  REQUIRE(standing.view(at(100s)) == View::stopped);
  standing.answered(*nonce, at(101s));
  REQUIRE(standing.view(at(101s)) == View::alive);
}

TEST_CASE("a question that no kernel acknowledges means that the host is silent") {
  Standing standing = connected();
  standing.want(at(10s));
  REQUIRE(standing.next_question(at(10s)));
  REQUIRE(standing.view(at(11s)) == View::silent);
  standing.acknowledged();
  REQUIRE(standing.view(at(12s)) == View::stopped);
}

TEST_CASE("a stopped process whose host goes is lost") {
  Standing standing = stopped();
  standing.lost();
  REQUIRE(standing.view(at(20s)) == View::lost);
}

TEST_CASE("nothing is asked without a connection") {
  Standing standing;
  standing.want(at(1s));
  REQUIRE_FALSE(standing.next_question(at(1s)));
  REQUIRE(standing.view(at(5s)) == View::unknown);
}
