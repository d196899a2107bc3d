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

}  // namespace

TEST_CASE("without a connection nothing is known") { REQUIRE(Standing().view(at(1h)) == View::unknown); }

TEST_CASE("a peer with a connection is alive as long as no question is open") {
  Standing standing = connected();
  REQUIRE_FALSE(standing.next_question(at(1h)));
  REQUIRE(standing.view(at(1h)) == View::alive);
}

TEST_CASE(
    "a connection that was closed means the process's end, when what it had sent has had time to arrive") {
  Standing standing = connected();
  standing.closed(at(10s), /*checking=*/false);
  REQUIRE(standing.view(at(10s + 499ms)) == View::closing);
  REQUIRE(standing.view(at(10s + 500ms)) == View::ended);
}

TEST_CASE("while the process is dialled once more, its end waits for that, but not for ever") {
  Standing standing = connected();
  standing.closed(at(10s), /*checking=*/true);
  REQUIRE(standing.view(at(13s + 499ms)) == View::closing);
  REQUIRE(standing.view(at(13s + 500ms)) == View::ended);
  standing.check_failed();
  REQUIRE(standing.view(at(10s + 500ms)) == View::ended);
}

TEST_CASE("a process that answers after its connection was closed has not ended") {
  Standing standing = connected();
  standing.closed(at(10s), /*checking=*/true);
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
  REQUIRE(standing.asked_at() == at(10s));
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

TEST_CASE("a stopped process that is killed has ended, and one whose host goes is lost") {
  Standing standing = connected();
  standing.want(at(10s));
  static_cast<void>(standing.next_question(at(10s)));
  standing.acknowledged();
  Standing other = standing;
  standing.closed(at(20s), /*checking=*/false);
  REQUIRE(standing.view(at(20s + 500ms)) == View::ended);
  other.lost();
  REQUIRE(other.view(at(20s)) == View::lost);
}

TEST_CASE("nothing is asked without a connection") {
  Standing standing;
  standing.want(at(1s));
  REQUIRE_FALSE(standing.next_question(at(1s)));
  REQUIRE(standing.view(at(5s)) == View::unknown);
}
