#include <catch2/catch.hpp>
#include <string>
#include <utility>

#include "tests/unit/control/stream_pair.h"
#include "tools/perf/watchdog.h"

using namespace tfabric;
using namespace tfabric::perf;
using test::StreamPair;

TEST_CASE("the watchdog ends a loop without progress, and says what it waited for") {
  StreamPair pair;
  control::Channel a(std::move(pair.ours), "b");
  control::Channel b(std::move(pair.theirs), "a");
  Watchdog watchdog(a, std::chrono::milliseconds(60), /*show_progress=*/false);
  watchdog.begin([] { return std::string("3 of 8 sends done"); });
  Status status;
  while (status) status = watchdog.idle();
  CHECK(status.error().message.find("3 of 8 sends done") != std::string::npos);
}

TEST_CASE("the watchdog detects the peer's failure while this side waits for data") {
  StreamPair pair;
  control::Channel a(std::move(pair.ours), "the server");
  control::Channel b(std::move(pair.theirs), "the client");
  b.send_failure({Errc::remote, "its cable was cut"});
  Watchdog watchdog(a, std::chrono::minutes(10), /*show_progress=*/false);
  watchdog.begin([] { return std::string("waiting"); });
  Status status;
  while (status) status = watchdog.idle();
  CHECK(status.error().message == "the server: its cable was cut");
}

TEST_CASE("the watchdog detects the peer's failure during many short operations") {
  StreamPair pair;
  control::Channel a(std::move(pair.ours), "the coordinator");
  pair.end();
  Watchdog watchdog(a, std::chrono::minutes(10), /*show_progress=*/false);
  Status status;
  constexpr int kOperations = 100'000;
  constexpr int kPolls = 10;
  for (int operation = 0; status && operation < kOperations; ++operation) {
    watchdog.begin([] { return std::string("waiting"); });
    for (int poll = 0; status && poll < kPolls; ++poll) status = watchdog.idle();
    watchdog.progress();
    watchdog.end();
  }
  REQUIRE_FALSE(status);
  CHECK(status.error().message.find("the coordinator has gone") != std::string::npos);
}
