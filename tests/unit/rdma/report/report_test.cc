// What a process shows of its comms over queue pairs.
#include <catch2/catch.hpp>

#include "transport/rdma/report/comm_report.h"
#include "watched_pair.h"

using namespace tfabric;
using namespace tfabric::rdma;
using namespace tfabric::rdma::test;
using namespace std::chrono_literals;

TEST_CASE("a comm is shown with what it has done and what it waits for") {
  WatchedPair pair;
  pair.run(100ms);
  REQUIRE(pair.text(0, "comm", "direction") == "send");
  REQUIRE(pair.text(1, "comm", "direction") == "receive");
  for (const std::size_t process : {0, 1}) {
    REQUIRE(pair.text(process, "comm", "state") == "idle");
    REQUIRE(pair.text(process, "comm", "rail") == "fake_0:1");
    REQUIRE(pair.number(process, "comm", "lanes") == 1);
    REQUIRE(pair.number(process, "comm", "waiting_since") == 0);
  }
  REQUIRE(pair.text(0, "comm", "peer") == "::ffff:10.0.0.2");
  REQUIRE(pair.text(1, "comm", "peer") == "::ffff:10.0.0.1");

  pair.exchange();
  pair.exchange();
  transport::Request* open = pair.post_receive();
  pair.run(100ms);
  REQUIRE(pair.number(0, "comm", "messages") == 2);
  REQUIRE(pair.number(0, "comm", "bytes") == 2000);
  REQUIRE(pair.number(0, "comm", "outstanding") == 0);
  REQUIRE(pair.number(1, "comm", "messages") == 2);
  REQUIRE(pair.number(1, "comm", "bytes") == 2000);
  REQUIRE(pair.number(1, "comm", "outstanding") == 1);
  REQUIRE(pair.text(1, "comm", "state") == "awaits data");
  REQUIRE(pair.number(1, "comm", "waiting_since") != 0);
  REQUIRE_FALSE(good(open->test(nullptr)));
}

TEST_CASE("a send without a receive waits as long as it is tried again") {
  WatchedPair pair;
  pair.processes[0].does = [&] { REQUIRE(pair.post_send() == nullptr); };
  pair.run(3s);
  REQUIRE(pair.text(0, "comm", "state") == "peer has no receive");
  REQUIRE(pair.number(0, "comm", "outstanding") == 1);
  pair.processes[0].does = [] {};
  pair.run(2s);
  REQUIRE(pair.text(0, "comm", "state") == "idle");
  REQUIRE(pair.number(0, "comm", "outstanding") == 0);
}

TEST_CASE("what a comm has done stays in its path and rail when it is closed") {
  WatchedPair pair;
  pair.exchange();
  pair.run(100ms);
  pair.exchange();
  pair.send.reset();
  pair.receive.reset();
  for (CommReport* report : {pair.processes[0].report.get(), pair.processes[1].report.get()}) {
    REQUIRE(report->look(monotonic_now()) == std::nullopt);
  }
  REQUIRE(pair.table(0, "comm").rows.empty());
  REQUIRE(pair.number(0, "path", "sent_bytes") == 2000);
  REQUIRE(pair.number(0, "path", "received_bytes") == 0);
  REQUIRE(pair.number(0, "path", "flows") == 0);
  REQUIRE(pair.number(1, "path", "received_bytes") == 2000);
  REQUIRE(pair.number(0, "rail", "sent_bytes") == 2000);
  REQUIRE(pair.number(1, "rail", "received_bytes") == 2000);
  // A process without comms sleeps, and does not look like one that stands still.
  REQUIRE(pair.number(0, "engine", "turned_at") == 0);
}

TEST_CASE("a completion that the application does not fetch counts all the same") {
  WatchedPair pair;
  transport::Request* to = pair.post_receive();
  pair.world.fabric.run();
  REQUIRE(pair.post_send() != nullptr);
  pair.run(3s);  // without a call of test()
  REQUIRE(pair.number(0, "comm", "messages") == 1);
  REQUIRE(pair.number(1, "comm", "messages") == 1);
  REQUIRE(good(to->test(nullptr)));
}

TEST_CASE("a rail is shown as its events say") {
  WatchedPair pair;
  REQUIRE(pair.text(0, "rail", "name") == "fake_0:1");
  REQUIRE(pair.text(0, "rail", "kind") == "RoCE");
  REQUIRE(pair.number(0, "rail", "up") == 1);
  pair.processes[0].report->show_rail({.name = "fake_0:1", .up = false});
  REQUIRE(pair.number(0, "rail", "up") == 0);
  REQUIRE(pair.number(0, "rail", "absences") == 1);
}
