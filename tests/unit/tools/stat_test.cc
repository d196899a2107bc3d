// What `tfabric stat` makes of pages: rates, who waits, metrics.
#include <unistd.h>

#include <algorithm>
#include <catch2/catch.hpp>
#include <string>

#include "base/version.h"
#include "observe/page.h"
#include "tools/stat/findings.h"
#include "tools/stat/lines.h"
#include "tools/stat/log.h"
#include "tools/stat/prometheus.h"
#include "tools/stat/rates.h"
#include "tools/stat/tables.h"
#include "tools/stat/verdicts.h"

using namespace tfabric;
using namespace tfabric::observe;
using namespace tfabric::stat;

namespace {

constexpr std::uint64_t kNow = 1'000'000'000'000;  // nanoseconds

std::unique_ptr<Page> page_of_rank(std::int64_t rank, const std::string& transport = "tcp") {
  auto page = Page::create({.rank = rank, .host = "node", .job = "a \"b\"", .transport = transport});
  REQUIRE(page.ok());
  return std::move(*page);
}

Found look_at(const Page& page, std::uint64_t at) {
  Found found;
  auto snapshot = read_page(page.descriptor(), Instant(std::chrono::nanoseconds(at)));
  REQUIRE(snapshot.ok());
  found.pages.push_back({.pid = 77, .stopped = false, .snapshot = std::move(*snapshot)});
  return found;
}

std::size_t count(const std::string& text, const std::string& what) {
  std::size_t found = 0;
  for (std::size_t at = text.find(what); at != std::string::npos; at = text.find(what, at + 1)) {
    ++found;
  }
  return found;
}

}  // namespace

TEST_CASE("rates are what has happened between two looks, over all engines") {
  const auto page = page_of_rank(3);
  RailFacts rail;
  put(rail.name, "eni1");
  rail.up = 1;
  PathFacts path;
  put(path.rail, "eni1");
  put(path.peer, "10.0.0.2");
  const std::uint32_t rails[] = {page->take(Table::rail), page->take(Table::rail)};
  const std::uint32_t at_path = page->take(Table::path);
  page->publish(rails[0], 1, rail);
  page->publish(rails[1], 2, rail);
  page->publish(at_path, 3, path);
  const Found before = look_at(*page, kNow);
  rail.sent_bytes = 1'000'000;
  page->publish(rails[0], 1, rail);
  page->publish(rails[1], 2, rail);
  path.sent_bytes = 100'000;
  path.retransmitted_bytes = 1'000;
  path.busy_ns = 1'000'000'000;
  path.network_limited_ns = 900'000'000;
  path.rtt_ns = 41'000;
  page->publish(at_path, 3, path);
  const auto processes = pair(before, look_at(*page, kNow + 2'000'000'000));
  REQUIRE(processes.size() == 1);
  const auto found = rails_of(processes.front());
  REQUIRE(found.size() == 1);
  CHECK(found.front().sent == Approx(1'000'000));
  CHECK(found.front().work.sent == Approx(50'000));
  CHECK(found.front().work.repeated.value() == Approx(0.01));
  CHECK(found.front().work.by_network == Approx(0.9));
  const std::string text = to_text(processes, Level::rail);
  CHECK_THAT(text, Catch::Contains("eni1") && Catch::Contains("network 90%") && Catch::Contains("1.00") &&
                       Catch::Contains("41"));
}

TEST_CASE("of a rail that sends a word now and then, no share is said that it has sent again") {
  const auto page = page_of_rank(3);
  RailFacts rail;
  put(rail.name, "eni1");
  PathFacts path;
  put(path.rail, "eni1");
  page->publish(page->take(Table::rail), 1, rail);
  const std::uint32_t slot = page->take(Table::path);
  page->publish(slot, 2, path);
  const Found before = look_at(*page, kNow);
  const auto repeated = [&] {
    return rails_of(pair(before, look_at(*page, kNow + 1'000'000'000)).front()).front().work.repeated;
  };
  path.sent_bytes = 90'000;
  path.retransmitted_bytes = 9'000;
  page->publish(slot, 2, path);
  CHECK_FALSE(repeated());
  path.retransmitted_bytes = 10'000;
  page->publish(slot, 2, path);
  CHECK(repeated().value() == Approx(1.0 / 9));
}

TEST_CASE("of HCAs nothing is shown that only TCP knows") {
  const auto page = page_of_rank(0, "rdma");
  RailFacts rail;
  put(rail.name, "mlx5_0:1");
  rail.up = 1;
  rail.sent_bytes = 5;
  page->publish(page->take(Table::rail), 1, rail);
  PathFacts path;
  put(path.rail, "mlx5_0:1");
  put(path.peer, "::ffff:10.0.0.2");
  path.sent_bytes = 5;
  path.flows = 2;
  page->publish(page->take(Table::path), 2, path);
  CommFacts comm;
  put(comm.rail, "mlx5_0:1");
  put(comm.peer, "10.0.0.2 port 4000");
  put(comm.direction, "send");
  put(comm.state, "connecting");
  comm.outstanding = 1;
  comm.waiting_since = kNow - 5'000'000'000;
  page->publish(page->take(Table::comm), 3, comm);
  // A process whose comms are closed looks at nothing, and is not still for that.
  page->publish(page->take(Table::engine), 4, EngineFacts{});
  const Found found = look_at(*page, kNow);
  const auto processes = pair({}, found);
  CHECK(still_for(processes.front()) == 0);
  CHECK(rails_of(processes.front()).front().waits == "welcome of 10.0.0.2 port 4000 5 s");
  for (const Level level : {Level::rail, Level::peer}) {
    CHECK(count(to_text(processes, level), "0.00") == 2);  // rates to and fro, and no share sent again
  }
  const std::string metrics = to_prometheus(found);
  CHECK_THAT(metrics, Catch::Contains("tfabric_rail_up{") &&
                          Catch::Contains("tfabric_path_sent_bytes_total{") &&
                          Catch::Contains("tfabric_path_flows{"));
  for (const char* name :
       {"retransmitted", "timeouts", "recoveries", "packets", "limited", "busy", "round_trip"}) {
    CHECK(count(metrics, name) == 0);
  }
}

TEST_CASE("what is rehearsed on a rail is shown once, below the table and as a metric, and only there") {
  const auto page = page_of_rank(3);
  RailFacts rail;
  rail.up = 1;
  put(rail.name, "eni1");
  page->publish(page->take(Table::rail), 1, rail);
  put(rail.name, "eni2");
  put(rail.fault, "loss=2% for 8 s more");
  page->publish(page->take(Table::rail), 2, rail);  // of one engine
  page->publish(page->take(Table::rail), 3, rail);  // and of another
  const Found found = look_at(*page, kNow);
  const std::string text = to_text(pair({}, found), Level::rail);
  CHECK(count(text, "rank 3 (process 77), rail eni2: a fault is rehearsed: loss=2% for 8 s more\n") == 1);
  CHECK(count(text, "a fault is rehearsed") == 1);
  const std::string metrics = to_prometheus(found);
  CHECK(count(metrics, "tfabric_rail_fault{") == 1);
  CHECK_THAT(metrics, Catch::Contains("rank=\"3\",pid=\"77\",rail=\"eni2\"} 1\n"));
}

TEST_CASE("another process with the same number is no earlier look") {
  const auto first = page_of_rank(0);
  Found before = look_at(*first, kNow);
  before.pages.front().snapshot->process_started ^= 1;
  REQUIRE_FALSE(pair(before, look_at(*first, kNow + 1)).front().before);
}

TEST_CASE("the request that waits longest is named, and those that wait as well are counted") {
  const auto page = page_of_rank(3);
  RailFacts rail;
  put(rail.name, "eni1");
  page->publish(page->take(Table::rail), 1, rail);
  CommFacts comm;
  put(comm.rail, "eni1");
  put(comm.peer, "10.0.0.2");
  comm.outstanding = 1;
  put(comm.direction, "send");
  comm.rank = 3;
  comm.waiting_since = kNow - 5'000'000'000;
  page->publish(page->take(Table::comm), 10, comm);
  put(comm.direction, "receive");
  comm.rank = 7;
  comm.waiting_since = kNow - 31'000'000'000;
  page->publish(page->take(Table::comm), 11, comm);
  comm.waiting_since = kNow - 500'000'000;  // is at work
  page->publish(page->take(Table::comm), 12, comm);
  const auto processes = pair({}, look_at(*page, kNow));
  REQUIRE(rails_of(processes.front()).front().waits == "data of rank 7 31 s (+1)");
  put(comm.direction, "send");
  comm.waiting_since = kNow - 40'000'000'000;
  const std::uint32_t slot = page->take(Table::comm);
  for (const auto& [state, waits] : {std::pair("no answer", "answer of 10.0.0.2 40 s (+2)"),
                                     {"peer has no receive", "receive of 10.0.0.2 40 s (+2)"},
                                     {"sending", "room at 10.0.0.2 40 s (+2)"}}) {
    put(comm.state, state);
    page->publish(slot, 13, comm);
    REQUIRE(rails_of(pair({}, look_at(*page, kNow)).front()).front().waits == waits);
  }
}

TEST_CASE("what is wrong is said once a process") {
  const auto page = page_of_rank(3);
  RailFacts rail;
  put(rail.name, "eni1");
  const std::uint32_t slot = page->take(Table::rail);
  rail.up = 1;
  page->publish(slot, 1, rail);
  EngineFacts engine;
  engine.turned_at = kNow;
  const std::uint32_t turned = page->take(Table::engine);
  page->publish(turned, 2, engine);
  CommFacts comm;
  put(comm.rail, "eni1");
  put(comm.direction, "receive");
  comm.rank = 7;
  comm.outstanding = 1;
  for (const std::uint64_t age : {29, 20}) {
    comm.waiting_since = kNow - age * 1'000'000'000;
    page->publish(page->take(Table::comm), age, comm);
  }
  using Lines = std::vector<std::string>;
  REQUIRE(findings_of(pair({}, look_at(*page, kNow)), 30).empty());
  REQUIRE(findings_of(pair({}, look_at(*page, kNow)), 20) ==
          Lines{"rank 3 (process 77) has waited 29 s for data of rank 7, over rail eni1"});
  rail.up = 0;
  page->publish(slot, 1, rail);
  engine.turned_at = kNow - 6'000'000'000;
  page->publish(turned, 2, engine);
  Found found = look_at(*page, kNow);
  REQUIRE(findings_of(pair({}, found), 30) ==
          Lines{"rank 3 (process 77) has not run its network for 6.0 s, though it is not stopped",
                "rank 3 (process 77): rail eni1 has no link"});
  REQUIRE(findings_of(pair({}, found), 24).size() == 2);  // when it ran last, it had waited for 23 s
  found.pages.front().stopped = true;
  REQUIRE(findings_of(pair({}, found), 30).front() ==
          "rank 3 (process 77) has been stopped, by a signal, a debugger or a freezer, for 6.0 s");
}

TEST_CASE("metrics have a series for each of the largest paths, and one for the others") {
  const auto page = page_of_rank(-1);
  PathFacts path;
  put(path.rail, "eni1");
  for (std::uint64_t i = 1; i <= 70; ++i) {
    put(path.peer, "10.0.0." + std::to_string(i));
    path.sent_bytes = i;
    page->publish(page->take(Table::path), i, path);
  }
  const std::string text = to_prometheus(look_at(*page, kNow));
  CHECK(count(text, "\ntfabric_path_sent_bytes_total{") == 65);
  CHECK_THAT(text, Catch::Contains("tfabric_path_sent_bytes_total{train_job=\"a \\\"b\\\"\",rank=\"pid "
                                   "77\",pid=\"77\",rail=\"eni1\",peer=\"other\"} 21\n"));
  CHECK_THAT(text, Catch::Contains("peer=\"10.0.0.70\"} 70\n"));
  CHECK(count(text, "# HELP tfabric_path_sent_bytes_total ") == 1);
  CHECK(count(text, "tfabric_path_round_trip_seconds") == 0);  // not measured yet
}

TEST_CASE("the congestion windows of a path's connections are summed, whichever engine has them") {
  const auto page = page_of_rank(3);
  PathFacts path;
  put(path.rail, "eni1");
  std::uint64_t id = 0;
  for (const char* peer : {"10.0.0.7", "10.0.0.7", "fd00::8"}) {
    put(path.peer, peer);
    page->publish(page->take(Table::path), ++id, path);
  }
  FlowFacts flow;
  put(flow.rail, "eni1");
  flow.cwnd = 1000;
  // The last two belong to no path of the page.
  for (const char* peer : {"10.0.0.7:61000", "10.0.0.7:61001", "[fd00::8]:61000", "10.0.0.9:61000", ""}) {
    put(flow.peer, peer);
    page->publish(page->take(Table::flow), ++id, flow);
  }
  const std::string text = to_prometheus(look_at(*page, kNow));
  CHECK(count(text, "\ntfabric_path_congestion_window_bytes{") == 2);
  CHECK_THAT(text, Catch::Contains("rank=\"3\",pid=\"77\",rail=\"eni1\",peer=\"10.0.0.7\"} 2000\n"));
  CHECK_THAT(text, Catch::Contains("rank=\"3\",pid=\"77\",rail=\"eni1\",peer=\"fd00::8\"} 1000\n"));
}

TEST_CASE("a process that has ended is shown with its last state, and in no metric but their number") {
  const auto page = page_of_rank(3);
  RailFacts rail;
  put(rail.name, "eni1");
  CommFacts comm;
  put(comm.rail, "eni1");
  put(comm.direction, "receive");
  comm.rank = 7;
  comm.outstanding = 1;
  comm.waiting_since = kNow - 43'000'000'000;
  VerdictFacts verdict;
  verdict.number = 1;
  put(verdict.cause, "not-sending");
  put(verdict.text, "rank 7 has sent nothing");
  verdict.began_at = comm.waiting_since;
  page->publish(page->take(Table::rail), 1, rail);
  page->publish(page->take(Table::comm), 2, comm);
  page->publish(page->take(Table::verdict), 3, verdict);
  Found found = look_at(*page, kNow);
  found.pages.front().ended = std::chrono::milliseconds(11'200);
  const auto processes = pair({}, found);
  const std::string said =
      "rank 3 (process 77) has ended without closing its communicators, at most 12 s ago";
  CHECK_THAT(to_text(processes, Level::rail),
             Catch::Contains(said + ": this is its last state") && Catch::Contains("data of rank 7 43 s"));
  CHECK_THAT(explain(processes), Catch::Contains("\n  " + said + ": this is its last state") &&
                                     Catch::Contains("\n  at its end, for 43 s: rank 7 has sent nothing"));
  const auto findings = findings_of(processes, 1);
  REQUIRE(findings.size() == 2);  // not its rail without a link, nor its wait
  CHECK(findings[0] == said);
  const std::string metrics = to_prometheus(found);
  CHECK_THAT(metrics, Catch::Contains("tfabric_processes_ended{train_job=\"a \\\"b\\\"\"} 1"));
  CHECK_THAT(metrics, Catch::Contains("tfabric_build_info{version=\"" + std::string(version()) + "\"} 1"));
  CHECK(count(metrics, "# TYPE") == 2);
}

TEST_CASE("of a process of another PID namespace it is not said whether it is stopped") {
  const auto page = page_of_rank(-1);
  EngineFacts engine;
  engine.turned_at = kNow - 9'000'000'000;
  page->publish(page->take(Table::engine), 1, engine);
  Found found = look_at(*page, kNow);
  found.pages.front().elsewhere = true;
  CHECK_THAT(to_text(pair({}, found), Level::rail),
             Catch::Contains("process 77 in another PID namespace has not run its network for 9.0 s: it is "
                             "stopped, its CPUs are taken, or it hangs\n"));
}

TEST_CASE("what processes have logged is in the order of time, whenever they have ended") {
  const auto first = page_of_rank(0), second = page_of_rank(1);
  CHECK(log_of({}).empty());
  CHECK(log_of(pair({}, look_at(*first, kNow))) == "nothing has been logged\n");
  const auto logs = [](Page& page, std::uint64_t number, std::uint64_t ago_s, const char* level) {
    LogFacts line;
    line.number = number;
    line.logged_at = kNow - ago_s * 1'000'000'000;
    put(line.level, level);
    put(line.text, std::to_string(ago_s) + " s ago");
    page.publish(page.take(Table::log), number, line);
  };
  logs(*first, 2, 10, "info");
  logs(*first, 1, 30, "warn");
  logs(*second, 1, 1, "info");
  Found found = look_at(*first, kNow);
  Found of_second = look_at(*second, kNow);
  of_second.pages.front().ended = std::chrono::seconds(19);  // so its line is 20 s old
  found.pages.push_back(std::move(of_second.pages.front()));
  const std::string text = log_of(pair({}, found));
  CHECK(std::count(text.begin(), text.end(), '\n') == 3);
  const std::size_t oldest = text.find("rank 0 (process 77): WARN 30 s ago\n");
  const std::size_t middle = text.find("rank 1 (process 77): 1 s ago\n");
  const std::size_t newest = text.find("rank 0 (process 77): 10 s ago\n");
  REQUIRE(newest != std::string::npos);
  CHECK((oldest < middle && middle < newest));
}

TEST_CASE("the dumps that a process has left are named, the newest first, and counted") {
  const auto page = page_of_rank(3);
  CHECK_THAT(to_prometheus(look_at(*page, kNow)),
             Catch::Contains("tfabric_dumps_total{") && Catch::Contains("} 0\n"));
  DumpFacts dump;
  for (const char* cause : {"peer-stopped", "peer-dead"}) {
    dump.written_at = kNow - 20'000'000'000 + ++dump.number * 5'000'000'000;
    put(dump.cause, cause);
    put(dump.capture, "/tmp/" + std::string(cause) + ".pcapng");
    page->publish(page->take(Table::dump), dump.number, dump);
  }
  const Found found = look_at(*page, kNow);
  CHECK_THAT(explain(pair({}, found)),
             Catch::Contains("  10 s ago it left /tmp/peer-dead.pcapng [peer-dead]\n"
                             "  15 s ago it left /tmp/peer-stopped.pcapng [peer-stopped]\n"));
  CHECK_THAT(to_prometheus(found),
             Catch::Contains("\ntfabric_dumps_total{train_job=\"a \\\"b\\\"\",rank=\"3\",pid=\"77\"} 2\n"));
}

TEST_CASE("two jobs of one host without names, with the same ranks, have series of their own") {
  const auto one = page_of_rank(0), other = page_of_rank(0);
  RailFacts rail;
  put(rail.name, "eni1");
  rail.sent_bytes = 5;
  Found found;
  std::uint32_t pid = 77;
  for (const auto* page : {&one, &other}) {
    (*page)->publish((*page)->take(Table::rail), 1, rail);
    Found more = look_at(**page, kNow);
    more.pages.front().pid = pid++;
    found.pages.push_back(std::move(more.pages.front()));
  }
  CHECK(count(to_prometheus(found), "\ntfabric_rail_transmit_bytes_total{") == 2);
  // Of two containers, whose processes have the same number there.
  for (FoundPage& page : found.pages) {
    page.pid = 7;
    page.elsewhere = true;
  }
  found.pages.back().snapshot->made_at += 1;
  CHECK(count(to_prometheus(found), "\ntfabric_rail_transmit_bytes_total{") == 2);
}

TEST_CASE("a rail that stands in, or did, or is missed, is said in the row, in words and as metrics") {
  constexpr std::uint64_t kSecond = 1'000'000'000;
  const auto page = page_of_rank(3);
  RailFacts own, standby;
  put(own.name, "eni1");
  put(standby.name, "eth0");
  own.up = standby.up = 1;
  const std::uint32_t slots[] = {page->take(Table::rail), page->take(Table::rail)};
  const auto seen = [&] {
    page->publish(slots[0], 1, own);
    page->publish(slots[1], 2, standby);
    return pair({}, look_at(*page, kNow));
  };
  CHECK(findings_of(seen(), 30).empty());
  CHECK_THAT(explain(seen()), Catch::Contains("nothing stands still"));

  own.missed_since = kNow - 4 * kSecond;  // for a moment
  put(standby.stands_in, "life-boat");
  standby.stands_in_since = standby.stood_in_at = kNow - 4 * kSecond;
  standby.stood_in_ns = 4 * kSecond;
  CHECK(
      findings_of(seen(), 30) ==
      std::vector<std::string>{"rank 3 (process 77): rail eth0 stands in, as a life-boat, for 4 s: messages "
                               "go over it whose own rails have no connection"});
  CHECK_THAT(to_text(seen(), Level::rail), Catch::Contains("eth0  stands in") && Catch::Contains("for 4 s"));
  CHECK_THAT(explain(seen()), Catch::Contains("now: rail eth0 stands in") && !Catch::Contains("nothing"));
  CHECK_THAT(to_prometheus(look_at(*page, kNow)),
             Catch::Contains("pid=\"77\",rail=\"eth0\"} 4\n") &&
                 Catch::Contains("\ntfabric_rail_stand_in_seconds_total{"));

  own.missed_since = kNow - 23 * kSecond;
  put(standby.stands_in, "");
  standby.stands_in_since = 0;
  standby.stood_in_at = kNow - 200 * kSecond;
  CHECK(findings_of(seen(), 30).size() == 2);
  CHECK_THAT(to_text(seen(), Level::rail),
             Catch::Contains("eni1  unused") && Catch::Contains("eth0  stood in") &&
                 Catch::Contains("until 200 s ago") && Catch::Contains("for 23 s"));
  own.missed_since = 0;
  standby.stood_in_at = kNow - 301 * kSecond;
  CHECK(findings_of(seen(), 30).empty());
}

TEST_CASE("a table fits a screen: spare columns go, lines are cut, and pages have the rows") {
  Lines lines({"PID", "SPARE", "MORE SPARE", "WAITS FOR"}, 1, {"MORE SPARE", "SPARE"});
  for (int i = 0; i < 50; ++i) {
    lines.add({std::to_string(1000 + i), "12345678", "1234567890", std::string(60, 'x')}, i);
  }
  const auto longest = [](const std::string& text) {
    std::size_t most = 0, begin = 0;
    for (std::size_t end = text.find('\n'); end != std::string::npos; end = text.find('\n', begin)) {
      most = std::max(most, end - begin);
      begin = end + 1;
    }
    return most;
  };
  CHECK(longest(lines.text()) == 4 + 2 + 8 + 2 + 10 + 2 + 60);
  const std::string narrow = lines.text({.width = 30});
  CHECK(longest(narrow) == 30);
  CHECK_THAT(narrow, Catch::Contains(" SPARE ") && !Catch::Contains("MORE") && Catch::Contains("xxx...\n"));
  CHECK_THAT(lines.text({.width = 20}), !Catch::Contains("SPARE"));

  lines.sort();
  const Fit screen{.width = 80, .height = 12};
  CHECK(lines.page(screen) == 10);
  const std::string first = lines.text(screen), last = lines.text(screen, 40);
  CHECK(lines_on(screen, first) == 12);
  CHECK_THAT(first, Catch::Contains("1049") && Catch::Contains("rows 1 to 10 of 50\n"));
  CHECK_THAT(last, Catch::Contains("1000") && Catch::Contains("rows 41 to 50 of 50\n"));
  CHECK(lines.page({}) == 50);
  CHECK(lines_on({.width = 10}, std::string(25, 'x') + "\n\n") == 4);
}

TEST_CASE("of comms the one that waits longest is first, and slow rates have digits") {
  const auto page = page_of_rank(3);
  CommFacts comm;
  put(comm.direction, "receive");
  put(comm.state, "awaits data");
  comm.outstanding = 1;
  for (std::uint64_t i = 1; i <= 3; ++i) {
    comm.waiting_since = kNow - (i == 2 ? 9'000'000'000 : i * 1'000'000'000);
    page->publish(page->take(Table::comm), 100 + i, comm);
  }
  RailFacts rail;
  put(rail.name, "eni1");
  rail.up = 1;
  const std::uint32_t slot = page->take(Table::rail);
  page->publish(slot, 1, rail);
  const Found before = look_at(*page, kNow - 1'000'000'000);
  rail.sent_bytes = 1'250'000;  // 10 Mbit/s
  rail.received_bytes = 2'500;
  page->publish(slot, 1, rail);
  const auto processes = pair(before, look_at(*page, kNow));
  const std::string comms = to_text(processes, Level::comm);
  CHECK(comms.find(" 102 ") < comms.find(" 103 "));
  CHECK(comms.find(" 103 ") < comms.find(" 101 "));
  CHECK_THAT(to_text(processes, Level::rail), Catch::Contains(" 0.0100 ") && Catch::Contains(" 0.000020 "));
}
