// What `tfabric stat` makes of pages: rates, who waits, metrics.
#include <unistd.h>

#include <algorithm>
#include <catch2/catch.hpp>
#include <string>

#include "observe/page.h"
#include "tools/stat/findings.h"
#include "tools/stat/prometheus.h"
#include "tools/stat/rates.h"
#include "tools/stat/tables.h"
#include "tools/stat/verdicts.h"

using namespace tfabric;
using namespace tfabric::observe;
using namespace tfabric::stat;

namespace {

constexpr std::uint64_t kNow = 100'000'000'000;  // nanoseconds

std::unique_ptr<Page> page_of_rank(std::int64_t rank) {
  auto page = Page::create({.rank = rank, .host = "node", .job = "a \"b\"", .transport = "tcp"});
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
  CHECK(found.front().work.repeated == Approx(0.01));
  CHECK(found.front().work.by_network == Approx(0.9));
  const std::string text = to_text(processes, Level::rail);
  CHECK_THAT(text, Catch::Contains("eni1") && Catch::Contains("network 90%") && Catch::Contains("1.00") &&
                       Catch::Contains("41"));
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
          "rank 3 (process 77) has been stopped, by a signal or a debugger, for 6.0 s");
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
                                   "77\",rail=\"eni1\",peer=\"other\"} 21\n"));
  CHECK_THAT(text, Catch::Contains("peer=\"10.0.0.70\"} 70\n"));
  CHECK(count(text, "# HELP tfabric_path_sent_bytes_total ") == 1);
  CHECK(count(text, "tfabric_path_round_trip_seconds") == 0);  // not measured yet
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
             Catch::Contains("\ntfabric_dumps_total{train_job=\"a \\\"b\\\"\",rank=\"3\"} 2\n"));
}
