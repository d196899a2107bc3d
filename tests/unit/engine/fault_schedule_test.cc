#include "transport/tcp/engine/fault_schedule.h"

#include <array>
#include <catch2/catch.hpp>
#include <string>
#include <vector>

#include "tests/captured_log.h"
#include "transport/tcp/engine/rehearsal.h"

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
