// What an engine's report shows of comms and flows, and that its sums are those of the links.
#include <catch2/catch.hpp>

#include "observe/page.h"
#include "observe/reader.h"
#include "tests/unit/tcp/comm_pair.h"
#include "transport/tcp/report/engine_report.h"

using namespace tfabric;
using namespace tfabric::tcp;
using namespace tfabric::tcp::test;

namespace {

// A world whose engine reports.
struct ShownWorld {
  ShownWorld()
      : page(std::move(
            *observe::Page::create({.rank = 0, .host = "h", .job = {}, .transport = "tcp", .records = 64}))) {
    const EngineGuard guard(world.engine.lock());
    report = std::make_unique<EngineReport>(*page, watchdog, world.engine, world.peers.paths,
                                            std::uint16_t{0}, "inline");
    world.peers.report = report.get();
    world.engine.set_observer(report.get());
    world.engine.set_recorder_page(page->memory());
  }
  ~ShownWorld() {
    const EngineGuard guard(world.engine.lock());
    world.engine.set_observer(nullptr);
  }
  // Turns for so long that all comms and flows have been looked at.
  void settle() {
    const Instant end = monotonic_now() + std::chrono::milliseconds(30);
    REQUIRE(world.until([&] { return monotonic_now() > end; }));
  }
  observe::Snapshot read() {
    auto snapshot = observe::read_page(page->descriptor(), monotonic_now());
    REQUIRE(snapshot.ok());
    return *snapshot;
  }
  std::uint64_t sum(const observe::Snapshot& snapshot, const char* name, const char* field) {
    const observe::ReadTable& table = snapshot.table(name);
    std::uint64_t value = 0;
    for (const observe::ReadRow& row : table.rows) {
      value += table.number(row, field).value();
    }
    return value;
  }

  std::unique_ptr<observe::Page> page;
  watchdog::Watchdog watchdog{{.self = {.rank = 0, .pid = 1, .host = "h"}, .number = 1}, *page};
  World world;
  std::unique_ptr<EngineReport> report;
};

}  // namespace

TEST_CASE("comms are shown with what they have done and what they wait for") {
  ShownWorld shown;
  Pair pair(shown.world);
  pair.exchange(100000);
  shown.settle();
  observe::Snapshot snapshot = shown.read();
  const observe::ReadTable& idle = snapshot.table("comm");
  REQUIRE(idle.rows.size() == 2);
  for (const observe::ReadRow& row : idle.rows) {
    REQUIRE(idle.text(row, "state") == "idle");
    REQUIRE(idle.number(row, "messages") == 1);
    REQUIRE(idle.number(row, "bytes") == 100000);
    REQUIRE(idle.number(row, "outstanding") == 0);
    REQUIRE(idle.number(row, "waiting_since") == 0);
    REQUIRE(idle.number(row, "lanes") == 2);
  }
  Pair::Message& message = pair.message(1000, /*tag=*/7);
  pair.post_receive(message);
  shown.settle();
  snapshot = shown.read();
  const observe::ReadTable& waiting = snapshot.table("comm");
  int receivers = 0;
  for (const observe::ReadRow& row : waiting.rows) {
    if (waiting.text(row, "direction") == "receive") {
      ++receivers;
      REQUIRE(waiting.text(row, "state") == "awaits data");
      REQUIRE(waiting.integer(row, "rank") == 7);
      REQUIRE(waiting.number(row, "outstanding") == 1);
      REQUIRE(waiting.number(row, "waiting_since").value() > 0);
    }
  }
  REQUIRE(receivers == 1);
  pair.post_send(message);
  pair.finish(message);
}

TEST_CASE("sums of paths are those of flows and of links, and stay when comms and flows have ended") {
  ShownWorld shown;
  std::uint64_t sent = 0, received = 0;
  for (int round = 0; round < 3; ++round) {
    {
      Pair pair(shown.world);
      pair.exchange(300000);
      shown.settle();
      const observe::Snapshot snapshot = shown.read();
      REQUIRE(snapshot.table("flow").rows.size() >= 4);
      REQUIRE(shown.sum(snapshot, "path", "sent_bytes") >= sent);
      REQUIRE(shown.sum(snapshot, "path", "received_bytes") >= received);
    }
    REQUIRE(shown.world.until([&] { return shown.world.engine.flows() == 0; }));
    shown.settle();
    const observe::Snapshot snapshot = shown.read();
    REQUIRE(snapshot.table("flow").rows.empty());
    REQUIRE(snapshot.table("comm").rows.empty());
    REQUIRE(shown.sum(snapshot, "path", "flows") == 0);
    sent = shown.sum(snapshot, "path", "sent_bytes");
    received = shown.sum(snapshot, "path", "received_bytes");
    std::uint64_t staged = 0, repeated = 0;
    for (const engine::Link* link : shown.world.links) {
      staged += link->counters().tx_payload;
      repeated += link->counters().tx_repeated;
    }
    REQUIRE(shown.sum(snapshot, "path", "retransmitted_bytes") == repeated);
    REQUIRE(sent + repeated == staged);
    REQUIRE(shown.sum(snapshot, "path", "acked_bytes") <= sent);  // a goodbye may cross the end of its flow
    REQUIRE(received == sent);                                    // the links lead back
  }
}

TEST_CASE("thousands of comms are looked at a few at a time") {
  ShownWorld shown;
  Pair pair(shown.world);
  std::vector<std::unique_ptr<Pair>> more;
  for (int i = 0; i < 40; ++i) {
    more.push_back(std::make_unique<Pair>(shown.world));
  }
  REQUIRE(shown.world.until([&] { return shown.read().table("comm").rows.size() == 82; }));
  REQUIRE(shown.world.until([&] { return shown.read().table("flow").rows.size() == 4 * 41; }));
  more.clear();
  pair.exchange(1000);
  REQUIRE(shown.world.until([&] { return shown.read().table("comm").rows.size() == 2; }));
}
