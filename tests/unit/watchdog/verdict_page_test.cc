// What a watchdog leaves on the page of its process.
#include <catch2/catch.hpp>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "observe/page.h"
#include "observe/reader.h"
#include "tests/captured_log.h"
#include "transport/watchdog/watchdog.h"

using namespace tfabric;
using namespace tfabric::watchdog;
using namespace std::chrono_literals;

namespace {

constexpr verdict::Channel kComm = 5;

struct Watched {
  // Something waits since `since`, and is looked at now.
  void look(Instant since, Instant now, verdict::Channel channel = kComm) {
    const Watchdog::Sight sight{.waits = true,
                                .oldest = channel,
                                .since = since,
                                .spoken_since = since,
                                .posted_at = since,
                                .moved_at = since};
    if (watchdog.look(0, sight, now)) {
      verdict::WaitFacts facts;
      facts.outstanding = 1;
      facts.address = "10.0.0.7";
      facts.lanes = {{.rail = "eni1"}};
      watchdog.judge(channel, facts, now);
    }
  }
  void rest(Instant now) { REQUIRE(!watchdog.look(0, {}, now)); }
  observe::ReadTable verdicts() {
    auto snapshot = observe::read_page(page->descriptor(), monotonic_now());
    REQUIRE(snapshot.ok());
    return snapshot->table("verdict");
  }

  std::unique_ptr<observe::Page> page =
      std::move(*observe::Page::create({.rank = 0, .host = "h", .job = {}, .transport = "tcp"}));
  std::vector<std::pair<verdict::Cause, std::uint64_t>> dumps;  // that were asked for
  Watchdog watchdog{{.self = {.rank = 0, .pid = 1, .host = "h"},
                     .number = 1,
                     .dump = [this](const verdict::Verdict& why, std::uint64_t comm,
                                    Instant) { dumps.emplace_back(why.cause, comm); }},
                    *page};
};

constexpr Instant at(std::chrono::seconds time) { return Instant(1000s + time); }

}  // namespace

TEST_CASE("a wait is shown from its first word on, and stays when it is over") {
  Watched watched;
  watched.look(at(0s), at(29s));
  REQUIRE(watched.verdicts().rows.empty());
  watched.look(at(0s), at(30s));
  watched.look(at(0s), at(41s));
  observe::ReadTable table = watched.verdicts();
  REQUIRE(table.rows.size() == 1);
  REQUIRE(table.text(table.rows[0], "cause") == "not-sending");
  REQUIRE(table.text(table.rows[0], "text")
              .find("the peer at 10.0.0.7 has sent nothing for 41 s: 1 receive has") == 0);
  REQUIRE(table.number(table.rows[0], "comm") == kComm);
  REQUIRE(table.number(table.rows[0], "began_at") == 1000'000'000'000u);
  REQUIRE(table.number(table.rows[0], "ended_at") == 0);
  watched.rest(at(50s));
  table = watched.verdicts();
  REQUIRE(table.rows.size() == 1);
  REQUIRE(table.number(table.rows[0], "ended_at") == 1050'000'000'000u);
}

TEST_CASE("the last sixteen are kept") {
  Watched watched;
  for (int i = 0; i < 20; ++i) {
    const auto begin = i * 100s;
    watched.look(at(begin), at(begin + 40s), kComm + static_cast<verdict::Channel>(i));
    watched.rest(at(begin + 50s));
  }
  const observe::ReadTable table = watched.verdicts();
  REQUIRE(table.rows.size() == 16);
  for (const observe::ReadRow& row : table.rows) {
    REQUIRE(table.number(row, "comm").value() >= kComm + 4);
  }
}

TEST_CASE("a wait that goes on keeps its place while other things happen") {
  Watched watched;
  watched.look(at(0s), at(31s));
  for (int i = 0; i < 40; ++i) {
    // The process pauses again and again, for so long that it says so.
    const Duration paused = (i + 1) * 6s;
    const Watchdog::Sight sight{
        .waits = true, .oldest = kComm, .since = at(0s), .spoken_since = at(0s), .paused = paused};
    static_cast<void>(watched.watchdog.look(0, sight, at(32s)));
    const observe::ReadTable table = watched.verdicts();
    int of_comm = 0;
    for (const observe::ReadRow& row : table.rows) {
      of_comm += table.number(row, "comm") == kComm ? 1 : 0;
    }
    REQUIRE(of_comm == 1);
    REQUIRE(table.rows.size() <= 16);
  }
}

TEST_CASE("a comm that fails says what was seen of it, and the first failures are shown") {
  Watched watched;
  watched.look(at(0s), at(31s));
  const std::string seen = watched.watchdog.on_failed(kComm, verdict::Cause::peer_dead, "it has ended",
                                                      /*by_network=*/true, at(32s));
  REQUIRE(seen.find("the peer at 10.0.0.7 has sent nothing for 31 s") == 0);
  REQUIRE(seen.find("[not-sending]") != std::string::npos);
  for (int i = 0; i < 10; ++i) {
    REQUIRE(watched.watchdog
                .on_failed(kComm + 1, verdict::Cause::failed, "the same", /*by_network=*/true, at(33s))
                .empty());
  }
  const observe::ReadTable table = watched.verdicts();
  REQUIRE(table.rows.size() == 5);
  REQUIRE(table.text(table.rows[1], "cause") == "peer-dead");
  REQUIRE(table.text(table.rows[1], "text") == "it has ended");
}

TEST_CASE("a wait that its comm's failure ends did not go on") {
  const tfabric::test::CapturedLog log;
  Watched watched;
  watched.look(at(0s), at(31s));
  static_cast<void>(watched.watchdog.on_failed(kComm, verdict::Cause::peer_dead, "it has ended",
                                               /*by_network=*/true, at(32s)));
  watched.rest(at(33s));
  watched.watchdog.on_gone(kComm, /*waited=*/false, at(34s));
  REQUIRE(log.count("it goes on") == 0);
  REQUIRE(log.count("the wait ends after 32 s with its comm") == 1);
}

TEST_CASE("what was posted before a pause counts, though no round of looks has ended since") {
  Watched watched;
  static_cast<void>(watched.watchdog.look(0, {.paused = 0s}, at(10s)));
  static_cast<void>(watched.watchdog.look(0, {.waits = true, .paused = 8s}, at(18s)));
  const observe::ReadTable table = watched.verdicts();
  REQUIRE(table.rows.size() == 1);
  REQUIRE(table.text(table.rows[0], "cause") == "self-starved");
}

TEST_CASE("a blank page shows nothing, and a watchdog that is off says nothing") {
  const auto blank = observe::Page::blank();
  Watchdog on_blank({.self = {}, .number = 1}, *blank);
  REQUIRE(on_blank.on_failed(kComm, verdict::Cause::failed, "why", /*by_network=*/true, at(1s)).empty());
  REQUIRE(blank->take(observe::Table::comm) == observe::Page::kNone);
  REQUIRE(blank->new_id() > 0);

  Watchdog off({.on = false, .self = {}, .number = 1}, *blank);
  REQUIRE(!off.look(0, {.waits = true, .oldest = kComm, .since = at(0s)}, at(1000s)));
  off.on_question(kComm, {.starter = 2, .serial = 1}, at(1s));
  REQUIRE(off.take(0).empty());
}

TEST_CASE("a dump is asked for when the network stands still, or a comm fails by it, and for nothing else") {
  using Dump = std::pair<verdict::Cause, std::uint64_t>;
  Watched watched;
  watched.look(at(0s), at(400s));  // the application's matter
  REQUIRE(watched.verdicts().rows.size() == 1);
  watched.rest(at(401s));
  const Watchdog::Sight paused{.waits = true, .oldest = kComm, .since = at(402s), .paused = 20s};
  static_cast<void>(watched.watchdog.look(0, paused, at(402s)));  // this process's own
  watched.watchdog.on_failed(kComm, verdict::Cause::failed, "the peer has closed", /*by_network=*/false,
                             at(403s));
  REQUIRE(watched.dumps.empty());
  const Watchdog::Sight waits{
      .waits = true, .oldest = kComm, .since = at(500s), .spoken_since = at(500s), .paused = 20s};
  for (const auto second : {510s, 511s, 512s}) {
    REQUIRE(watched.watchdog.look(0, waits, at(second)));
    verdict::WaitFacts facts;
    facts.outstanding = 1;
    facts.address = "10.0.0.7";
    facts.lanes = {{.rail = "eni1", .no_link = true}};
    watched.watchdog.judge(kComm, facts, at(second));
  }
  REQUIRE(watched.dumps == std::vector<Dump>{{verdict::Cause::link_down, kComm}});
  watched.watchdog.on_failed(Watchdog::channel(3, kComm), verdict::Cause::peer_dead, "it has ended",
                             /*by_network=*/true, at(513s));
  REQUIRE(watched.dumps.back() == Dump{verdict::Cause::peer_dead, kComm});
}
