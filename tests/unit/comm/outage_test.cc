// How long a comm may be without a lane that works, in virtual time.
#include "transport/comm/outage.h"

#include <catch2/catch.hpp>

using namespace tfabric;
using namespace tfabric::comm;
using namespace std::chrono_literals;
using witness::View;

namespace {

constexpr Outage::Limits kLimits{.outage = 20s, .frozen = 300s};
constexpr Duration kWhole = 21500ms;  // and what it takes to find a network that is back
const Instant kStart{1h};

Error because(const char* why) { return {Errc::remote, why}; }

}  // namespace

TEST_CASE("an outage counts from its beginning, whatever is lost meanwhile, and its first reason stays") {
  Outage outage(kLimits);
  CHECK_FALSE(outage.over(kStart + 1h, {}, View::alive));
  CHECK(outage.begin(because(""), kStart, {}, std::nullopt));
  CHECK_FALSE(outage.begin(because("first"), kStart + 5s, {}, 1s));
  CHECK_FALSE(outage.begin(because("second"), kStart + 9s, {}, std::nullopt));
  CHECK_FALSE(outage.over(kStart + kWhole - 1ms, {}, View::alive));
  const auto end = outage.over(kStart + kWhole, {}, View::alive);
  REQUIRE(end);
  CHECK(end->why.message == "first");
  CHECK(end->passed == kWhole);
  CHECK_FALSE(end->stopped);
  CHECK_FALSE(end->process);
  outage.end();
  CHECK_FALSE(outage.lasts());
  CHECK_FALSE(outage.over(kStart + 1h, {}, View::alive));
}

TEST_CASE("a short limit is as long again at most") {
  Outage outage({.outage = 1s, .frozen = 300s});
  outage.begin(because("x"), kStart, {}, std::nullopt);
  CHECK_FALSE(outage.over(kStart + 1999ms, {}, View::alive));
  CHECK(outage.over(kStart + 2s, {}, View::alive));
}

TEST_CASE("time in which this process did not run does not count") {
  Outage outage(kLimits);
  outage.begin(because("x"), kStart, 7s, std::nullopt);
  CHECK_FALSE(outage.over(kStart + kWhole + 3s - 1ms, 10s, View::alive));
  CHECK(outage.over(kStart + kWhole + 3s, 10s, View::alive));
}

TEST_CASE("a process that is stopped is waited for longer, and has as long as any once it runs") {
  Outage outage(kLimits);
  outage.begin(because("x"), kStart, {}, std::nullopt);
  CHECK_FALSE(outage.over(kStart + 299s, {}, View::stopped));
  SECTION("for ever") {
    const auto end = outage.over(kStart + 300s, {}, View::stopped);
    REQUIRE(end);
    CHECK(end->stopped);
  }
  SECTION("until it goes on") {
    CHECK_FALSE(outage.over(kStart + 299s, {}, View::alive));
    CHECK_FALSE(outage.over(kStart + 299s + kWhole - 1ms, {}, View::alive));
    CHECK(outage.over(kStart + 299s + kWhole, {}, View::alive));
  }
}

TEST_CASE("lanes that look like the end of the process are taken for it, unless the witness knows better") {
  Outage outage(kLimits);
  outage.begin(because("x"), kStart, {}, 1s);
  CHECK_FALSE(outage.over(kStart + 999ms, {}, View::unknown));
  for (const View view : {View::alive, View::silent, View::lost}) {
    CHECK_FALSE(outage.over(kStart + 1s, {}, view));
  }
  const auto end = outage.over(kStart + 1s, {}, View::unknown);
  REQUIRE(end);
  CHECK(end->process);
}

TEST_CASE("nothing is decided while the witness is about to know") {
  Outage outage(kLimits);
  outage.begin(because("x"), kStart, {}, std::nullopt);
  for (const View view : {View::asked, View::closing}) {
    CHECK_FALSE(outage.over(kStart + 1h, {}, view));
  }
  CHECK(outage.over(kStart + 1h, {}, View::ended));
}
