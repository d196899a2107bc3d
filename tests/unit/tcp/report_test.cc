// What an engine's report shows of comms and flows, and that its sums are those of the links.
#include <algorithm>
#include <catch2/catch.hpp>

#include "observe/page.h"
#include "observe/reader.h"
#include "observe/ring_reader.h"
#include "tests/unit/tcp/comm_pair.h"
#include "transport/report/engine_report.h"

using namespace tfabric;
using namespace tfabric::comm;
using namespace tfabric::flows;
using namespace tfabric::report;
using namespace tfabric::session;
using namespace tfabric::comm::test;

namespace {

// A world whose engine reports.
struct ShownWorld {
  explicit ShownWorld(const CommOptions& options = {}, const link::Options& tcp_options = {})
      : page(std::move(
            *observe::Page::create({.rank = 0, .host = "h", .job = {}, .transport = "tcp", .records = 64}))),
        world(options, tcp_options) {
    const engine::Guard guard(world.engine.lock());
    report = std::make_unique<EngineReport>(*page, watchdog, world.engine, world.peers.paths,
                                            std::uint16_t{0}, "inline");
    world.peers.report = report.get();
    world.engine.set_observer(report.get());
    world.tcp.set_recorder_page(page->rings());
  }
  ~ShownWorld() {
    const engine::Guard guard(world.engine.lock());
    world.engine.set_observer(nullptr);
  }
  // Turns so often that all comms and flows have been looked at, which happens once a millisecond, and not
  // while the host stands still.
  void settle() {
    for (int look = 0; look < 30; ++look) {
      const Instant next = monotonic_now() + std::chrono::milliseconds(1);
      REQUIRE(world.until([&] { return monotonic_now() > next; }));
      const engine::Guard guard(world.engine.lock());
      world.engine.turn();
    }
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
  std::vector<verdict::Cause> dumps;  // that were asked for
  watchdog::Watchdog watchdog{
      {.self = {.rank = 0, .pid = 1, .host = "h"},
       .number = 1,
       .dump = [this](const verdict::Verdict& why, std::uint64_t, Instant) { dumps.push_back(why.cause); }},
      *page};
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
    for (const link::Link* link : shown.world.links) {
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

TEST_CASE("a flow that is lost leaves its last packets, and its comm goes on") {
  ShownWorld shown({.piece_bytes = 4096, .outage = std::chrono::seconds(60)});
  Pair pair(shown.world);
  pair.exchange(100'000);
  shown.settle();
  REQUIRE(observe::keepsakes_of(shown.read()).empty());
  Pair::Message& message = pair.begin(3'000'000);
  shown.world.cut(0, CutWire::State::no_link);
  pair.finish(message);
  const auto keepsakes = observe::keepsakes_of(shown.read());
  REQUIRE(!keepsakes.empty());
  for (const observe::ReadKeepsake& kept : keepsakes) {
    CHECK(kept.rail == "pair0");
    CHECK(kept.local.str().find("10.77.0.1:") == 0);
    CHECK(kept.comm != 0);
    CHECK(!kept.why.empty());
    CHECK(kept.recorded.packets.size() >= 5);
  }
  CHECK(shown.dumps.empty());
}

TEST_CASE(
    "a comm that the network fails asks for a dump, once for each end, and its flows leave their packets") {
  link::Options patience;
  patience.tcp.user_timeout = patience.tcp.connect_timeout = std::chrono::milliseconds(500);
  patience.tcp.keepalive_idle = std::chrono::milliseconds(200);
  patience.tcp.keepalive_interval = std::chrono::milliseconds(50);
  ShownWorld shown({.piece_bytes = 4096, .outage = std::chrono::milliseconds(50)}, patience);
  Pair pair(shown.world);
  pair.exchange(100'000);
  shown.settle();
  pair.begin(3'000'000);
  for (const std::size_t wire : {0u, 1u}) {
    shown.world.cut(wire, CutWire::State::no_link);
  }
  REQUIRE(shown.world.until([&] { return pair.send->failed() && pair.receive->failed(); }));
  // Before, the wait may have been explained by the links.
  CHECK(std::count(shown.dumps.begin(), shown.dumps.end(), verdict::Cause::failed) == 2);
  CHECK(observe::keepsakes_of(shown.read()).size() >= 4);
}

TEST_CASE("a peer that closes its comm, while it is in use or not, is no reason for a dump") {
  ShownWorld shown({.piece_bytes = 4096, .outage = std::chrono::milliseconds(50)});
  Pair pair(shown.world);
  pair.exchange(100'000);
  shown.settle();
  SECTION("the receiver, in the middle of a message") {
    pair.begin(12'000'000);
    pair.receive.reset();
    REQUIRE(shown.world.until([&] { return pair.send->failed(); }));
  }
  SECTION("the sender, in the middle of a message") {
    pair.begin(12'000'000);
    pair.send.reset();
    REQUIRE(shown.world.until([&] { return pair.receive->failed(); }));
  }
  SECTION("the receiver, of a message that has not begun") {
    pair.receive.reset();
    REQUIRE(pair.send->isend(nullptr, 0, 0, nullptr).ok());
    REQUIRE(shown.world.until([&] { return pair.send->failed(); }));
  }
  SECTION("the sender, whose message is awaited") {
    pair.post_receive(pair.message(1000));
    pair.send.reset();
    REQUIRE(shown.world.until([&] { return pair.receive->failed(); }));
  }
  CHECK(shown.dumps.empty());
  CHECK(observe::keepsakes_of(shown.read()).empty());
}

TEST_CASE(
    "memory that is deregistered first, as NCCL does when it aborts, is no reason for a dump at either end") {
  ShownWorld shown({.piece_bytes = 4096, .outage = std::chrono::milliseconds(50)});
  Pair pair(shown.world);
  Pair::Message& message = pair.message(12'000'000);
  const auto region =
      pair.send->register_memory(message.sent.data(), message.sent.size(), transport::MemoryKind::host);
  REQUIRE(region.ok());
  pair.post_receive(message);
  pair.post_send(message);
  REQUIRE(pair.send->deregister_region(*region).ok());
  REQUIRE(pair.send->failed());
  REQUIRE(shown.world.until([&] { return pair.receive->failed(); }));
  CHECK(shown.dumps.empty());
}

TEST_CASE("a rail that stands in for another says so, the other one that it is missed, until it is back") {
  using namespace std::chrono_literals;
  ShownWorld shown({.piece_bytes = 4096, .connect_timeout = 8s, .outage = 60s});
  Pair pair(shown.world, {}, {RouteClass::own, RouteClass::lifeboat});
  const auto own = [&] { return shown.world.peers.paths.duty_of("pair0"); };
  const auto standby = [&] { return shown.world.peers.paths.duty_of("pair1"); };
  pair.exchange(1'000'000);
  shown.settle();
  CHECK_FALSE(standby().stands_in.seen_at());
  CHECK_FALSE(own().missed.seen_at());
  shown.world.cut(0, CutWire::State::no_link);
  pair.exchange(1'000'000);
  shown.settle();
  const Instant now = monotonic_now();
  CHECK(standby().stands_in.present(now));
  CHECK(standby().role == "life-boat");
  CHECK(own().missed.present(now));
  CHECK_FALSE(own().stands_in.present(now));
  shown.world.cut(0, CutWire::State::whole);
  REQUIRE(shown.world.until([&] { return pair.send->lanes({0}) == 1 && pair.send->lanes({1}) == 0; }));
  REQUIRE(shown.world.until([&] { return !standby().stands_in.present(monotonic_now()); }));
  CHECK_FALSE(own().missed.present(monotonic_now()));
}

TEST_CASE("what comms say of a rail is so until none has said it for some seconds") {
  using namespace std::chrono_literals;
  Spell spell;
  const Instant begin{100s};
  CHECK_FALSE(spell.present(begin));
  spell.see(begin);
  spell.see(begin + 2s);
  CHECK(spell.present(begin + 4s));
  CHECK(spell.since() == begin);
  CHECK_FALSE(spell.present(begin + 5s));
  spell.see(begin + 9s);
  CHECK(spell.since() == begin + 9s);
  CHECK(spell.seen_at() == begin + 9s);
}
