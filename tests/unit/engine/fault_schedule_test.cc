#include "transport/engine/fault_schedule.h"

#include <array>
#include <catch2/catch.hpp>
#include <string>
#include <vector>

#include "tests/captured_log.h"
#include "transport/engine/rehearsal.h"

using namespace tfabric;
using namespace tfabric::engine;
using namespace std::chrono_literals;

namespace {

std::vector<config::Fault> faults_of(const std::string& text) {
  auto faults = config::parse_faults(text);
  REQUIRE(faults.ok());
  return std::move(*faults);
}

}  // namespace

TEST_CASE("a fault is there from its start to its end, and again after each period") {
  struct Row {
    const char* text;
    std::array<std::uint64_t, 8> turns;  // after 0 s to 7 s
  };
  const auto row = GENERATE(values<Row>({
      {"a:down@0s", {1, 1, 1, 1, 1, 1, 1, 1}},
      {"a:down@3s", {0, 0, 0, 1, 1, 1, 1, 1}},
      {"a:down@3s+2s", {0, 0, 0, 1, 1, 2, 2, 2}},
      {"a:down@1s+1s/3s", {0, 1, 2, 2, 3, 4, 4, 5}},
      {"a:down@2s+2s/3s", {0, 0, 1, 1, 2, 3, 3, 4}},
  }));
  INFO(row.text);
  const auto faults = faults_of(row.text);
  for (std::size_t second = 0; second < row.turns.size(); ++second) {
    INFO(second << " s");
    CHECK(turns_of(faults.front(), std::chrono::seconds(second)) == row.turns[second]);
    CHECK(effect_of(faults, std::chrono::seconds(second)).no_link == (row.turns[second] % 2 == 1));
  }
  CHECK(turns_of(faults_of("a:down@1s+1s/3s").front(), 2s - 1ns) == 1);
  CHECK(turns_of(faults.front(), -1s) == 0);
}

TEST_CASE("each kind does what it says, and several act together") {
  const auto effect = [](const std::string& text) { return effect_of(faults_of(text), 1s); };
  CHECK(effect("a:down@2s") == FaultEffect{});
  CHECK(effect("a:down@1s") == FaultEffect{.no_link = true, .nothing_in = true, .nothing_out = true});
  CHECK(effect("a:silent@1s") == FaultEffect{.nothing_in = true, .nothing_out = true});
  CHECK(effect("a:silent-in@1s") == FaultEffect{.nothing_in = true});
  CHECK(effect("a:silent-out@1s;a:silent-in@2s") == FaultEffect{.nothing_out = true});
  CHECK(effect("a:loss=50%@1s;a:loss=50%@0s+3s").loss == Approx(0.75));
  CHECK(effect("a:rate=2G@1s;a:rate=1G@1s;a:rate=3G@0s").rate == 1'000'000'000);
  CHECK(effect("a:delay=5ms@1s;a:delay=3ms@0s") == FaultEffect{.delay = 8ms});
  CHECK(effect("a:driver-stall@1s") == FaultEffect{.driver_stalls = true});
  CHECK(effect("freeze@1s") == FaultEffect{.frozen = true});
}

TEST_CASE(
    "faults that are added begin and end in their time, beside those that were there, and leave nothing") {
  const tfabric::test::CapturedLog log;
  const Instant opened{1h};
  Rehearsal rehearsal("eth1", faults_of("eth1:loss=50%@4s+4s"), opened);
  CHECK(rehearsal.present(opened + 1s).empty());
  config::Fault stall = config::parse_untimed_faults("eth1:driver-stall")->front();
  stall.text = "eth1:driver-stall for 3s";
  REQUIRE(rehearsal.add(stall, 0s, 3s, opened + 2s));
  CHECK(rehearsal.present(opened + 2s) == "driver-stall for 3 s more");
  CHECK(rehearsal.effect(opened + 2s) == FaultEffect{.driver_stalls = true});
  CHECK(rehearsal.effect(opened + 4500ms) == FaultEffect{.loss = 0.5, .driver_stalls = true});
  CHECK(rehearsal.present(opened + 4500ms) == "loss=50% for 4 s more, driver-stall for 1 s more");
  CHECK(rehearsal.effect(opened + 5s) == FaultEffect{.loss = 0.5});
  for (Duration time = 2s; time < 9s; time += 1ms) {
    rehearsal.report(opened + time);
  }
  REQUIRE(log.lines().size() == 4);
  CHECK(log.lines()[0].text == "NET/tfabric: rail eth1: a rehearsed fault begins: eth1:driver-stall for 3s");
  CHECK_THAT(log.lines()[2].text, Catch::Contains("has ended: eth1:driver-stall for 3s; 0 packets"));
  // Those that have ended make room, whether a link has reported it or not.
  for (int i = 0; i < 200; ++i) {
    REQUIRE(rehearsal.add(stall, 0s, 1ms, opened + 9s + i * 1ms));
  }
  for (int i = 0; i < 200; ++i) {
    const Instant now = opened + 10s + i * 1s;
    REQUIRE(rehearsal.add(stall, 0s, 1ms, now));
    rehearsal.report(now);
    rehearsal.report(now + 1ms);
  }
  for (std::size_t i = 1; i < config::kMostFaults; ++i) {
    REQUIRE(rehearsal.add(stall, 0s, 1h, opened + 1h));
  }
  CHECK_FALSE(rehearsal.add(stall, 0s, 1h, opened + 1h));
}

TEST_CASE("what was added is ended early, also what has not begun, and what the variable has set is not") {
  const tfabric::test::CapturedLog log;
  const Instant opened{1h};
  Rehearsal rehearsal("", faults_of("freeze@1s"), opened);
  config::Fault freeze = config::parse_untimed_faults("freeze")->front();
  REQUIRE(rehearsal.add(freeze, 0s, 60s, opened + 2s));
  REQUIRE(rehearsal.add(freeze, 200ms, 60s, opened + 2s));
  CHECK(rehearsal.present(opened + 2s) == "freeze, freeze for 60 s more, freeze for 60 s more");
  rehearsal.report(opened + 2s);
  CHECK(rehearsal.end_added(opened + 2100ms) == 2);
  CHECK(rehearsal.end_added(opened + 2100ms) == 0);
  CHECK(rehearsal.present(opened + 2100ms) == "freeze");
  CHECK(rehearsal.effect(opened + 2100ms).frozen);
  rehearsal.report(opened + 2100ms);
  CHECK(log.lines().front().text == "NET/tfabric: a rehearsed fault begins: freeze@1s");
}

TEST_CASE("the log has one line for each beginning and each end, whichever links look, and however often") {
  const tfabric::test::CapturedLog log;
  const Instant opened{1h};
  Rehearsal rehearsal("eth1", faults_of("eth1:silent@2s+1s/3s;eth1:rate=1G@5s"), opened);
  for (Duration time = 0s; time < 8s; time += 1ms) {
    rehearsal.report(opened + time);
    rehearsal.report(opened + time);
    rehearsal.count_lost(time == 2500ms ? 7 : 0);
  }
  const std::vector<std::string> expected{
      "NET/tfabric: rail eth1: a rehearsed fault begins: eth1:silent@2s+1s/3s",
      "NET/tfabric: rail eth1: a rehearsed fault has ended: eth1:silent@2s+1s/3s; 7 packets of this rail "
      "were lost "
      "on purpose so far",
      "NET/tfabric: rail eth1: a rehearsed fault begins: eth1:silent@2s+1s/3s",
      "NET/tfabric: rail eth1: a rehearsed fault begins: eth1:rate=1G@5s",
      "NET/tfabric: rail eth1: a rehearsed fault has ended: eth1:silent@2s+1s/3s; 7 packets of this rail "
      "were lost "
      "on purpose so far"};
  std::vector<std::string> lines;
  for (const auto& line : log.lines()) {
    CHECK(line.level == tfabric::log::Level::warn);
    lines.push_back(line.text);
  }
  CHECK(lines == expected);
}
