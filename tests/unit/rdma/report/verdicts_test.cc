// Why a comm over queue pairs does not move: each cause, and what both ends say of it.
#include <catch2/catch.hpp>

#include "tests/captured_log.h"
#include "watched_pair.h"

using namespace tfabric;
using namespace tfabric::rdma;
using namespace tfabric::rdma::test;
using namespace std::chrono_literals;
using Catch::Contains;

namespace {

// A receive that the application tests again and again, until it is done.
std::function<void()> tested(transport::Request*& request) {
  return [&request] {
    if (request != nullptr && good(request->test(nullptr))) {
      request = nullptr;
    }
  };
}

}  // namespace

TEST_CASE("a receiver that posts nothing is named by the sender") {
  const tfabric::test::CapturedLog log;
  WatchedPair pair;
  pair.processes[0].does = [&] { static_cast<void>(pair.post_send()); };
  pair.run(29s);
  REQUIRE(pair.said(0).empty());
  pair.run_until_said(0, 3s);
  REQUIRE(pair.said(0).size() == 1);
  REQUIRE(pair.said(0)[0].cause == "not-receiving");
  const std::string text = pair.said(0)[0].text;
  REQUIRE_THAT(text,
               Contains("rank 1 (pid 101 on vm) has posted no receive for 30 s: 1 send has waited. It has "
                        "posted nothing for"));
  REQUIRE_THAT(text, Contains("The network is well: the peer's HCA acknowledges what is sent.") ||
                         Contains("not in this collective."));
  REQUIRE(pair.said(1).empty());
  // It goes on, which is said too.
  transport::Request* to = pair.post_receive();
  pair.world.fabric.run();
  transport::Request* from = pair.post_send();
  REQUIRE(from != nullptr);
  pair.processes[0].does = tested(from);
  pair.processes[1].does = tested(to);
  pair.run(1s);
  REQUIRE_FALSE(pair.said(0)[0].goes_on);
}

TEST_CASE("a sender that sends nothing is named by the receiver") {
  const tfabric::test::CapturedLog log;
  const bool takes_notes = GENERATE(true, false);
  WatchedPair pair(takes_notes);
  transport::Request* to = pair.post_receive();
  pair.processes[1].does = tested(to);
  pair.run_until_said(1);
  REQUIRE(pair.said(1).size() == 1);
  REQUIRE(pair.said(1)[0].cause == "not-sending");
  REQUIRE_THAT(
      pair.said(1)[0].text,
      Contains(takes_notes ? "rank 0 (pid 100 on vm) has sent nothing for 30 s: 1 receive has waited. It has "
                             "posted nothing for"
                           : "the peer at ::ffff:10.0.0.1 has sent nothing for 30 s"));
  REQUIRE(pair.said(0).empty());
}

TEST_CASE("a peer whose process has ended is named, and the comm's error says so") {
  const tfabric::test::CapturedLog log;
  WatchedPair pair;
  transport::Request* to = pair.post_receive();
  pair.run(1s);
  pair.processes[0].stopped = pair.wire.left[0] = pair.cut = true;
  pair.run_until_said(1);
  REQUIRE(pair.said(1).at(0).cause == "peer-dead");
  REQUIRE_THAT(pair.said(1)[0].text,
               Contains("the process of rank 0 (pid 100 on vm) has ended without a word"));
  std::string error;
  for (int i = 0; i < 10'000 && error.empty(); ++i) {
    pair.run(i % 256 == 0 ? 100ms : 0ms);
    const auto done = to->test(nullptr);
    error = done ? "" : done.error().message;
  }
  REQUIRE_THAT(error, Contains("it closed the connection. Seen before: the process of rank 0"));
  pair.run(100ms);
  REQUIRE(pair.text(1, "comm", "state") == "failed");
  bool told = false;
  for (const auto& said : pair.said(1)) {
    told = told || (said.cause == "peer-dead" && said.text.find("receive comm: it closed") == 0);
  }
  REQUIRE(told);
}

TEST_CASE("a connection that was closed is no end of a peer whose HCA answers") {
  const tfabric::test::CapturedLog log;
  WatchedPair pair;
  pair.exchange();
  transport::Request* to = pair.post_receive();
  pair.wire.left[0] = pair.wire.left[1] = true;
  for (int i = 0; i < 1000; ++i) {
    pair.run(i % 256 == 0 ? 100ms : 0ms);
    REQUIRE(to->test(nullptr).ok());
  }
  pair.run(20s);
  REQUIRE(pair.text(1, "comm", "state") == "awaits data");
  REQUIRE(pair.said(0).empty());
  REQUIRE(pair.said(1).empty());
  REQUIRE(log.count("the peer's HCA still answers") == 1);
}

TEST_CASE("a comm that waits for nothing is no failure when its peer closes it") {
  WatchedPair pair;
  pair.exchange();
  pair.run(1s);
  pair.wire.left[0] = pair.cut = true;
  pair.run(40s);
  REQUIRE(pair.text(1, "comm", "state") == "peer has closed");
  REQUIRE(pair.said(1).empty());
}

TEST_CASE("a peer that is stopped does not answer, though its kernel does") {
  const tfabric::test::CapturedLog log;
  const bool host_is_down = GENERATE(false, true);
  WatchedPair pair;
  transport::Request* to = pair.post_receive();
  pair.processes[1].does = tested(to);
  pair.run(1s);
  pair.processes[0].stopped = true;
  pair.wire.kernel_mute[0] = pair.cut = host_is_down;
  pair.run_until_said(1);
  REQUIRE(pair.said(1).at(0).cause == (host_is_down ? "peer-silent" : "peer-stopped"));
  REQUIRE_THAT(pair.said(1)[0].text, Contains("rank 0 (pid 100 on vm)"));
}

TEST_CASE("a rail on which nothing is acknowledged is named if the peer's process answers elsewhere") {
  const tfabric::test::CapturedLog log;
  const bool takes_notes = GENERATE(true, false);
  WatchedPair pair(takes_notes);
  transport::Request* to = pair.post_receive();
  pair.processes[1].does = tested(to);
  pair.run(1s);
  transport::Request* from = pair.post_send();
  REQUIRE(from != nullptr);
  pair.processes[0].does = tested(from);
  pair.cut = true;
  pair.run_until_said(0);
  REQUIRE(pair.said(0).at(0).cause == (takes_notes ? "rail-silent" : "peer-silent"));
  REQUIRE_THAT(pair.said(0)[0].text, Contains("nothing that is sent to") && Contains("on rail fake_0:1"));
  REQUIRE(pair.text(0, "comm", "state") == "no answer");
  pair.cut = false;
  pair.run(1s);
  REQUIRE(from == nullptr);
  REQUIRE(to == nullptr);
  REQUIRE_FALSE(pair.said(0)[0].goes_on);
}

TEST_CASE("a port without a link is named") {
  const tfabric::test::CapturedLog log;
  WatchedPair pair;
  transport::Request* to = pair.post_receive();
  pair.processes[1].does = tested(to);
  pair.run(1s);
  pair.processes[1].report->show_rail({.name = "fake_0:1", .up = false});
  pair.cut = true;
  pair.run_until_said(1);
  REQUIRE(pair.said(1).at(0).cause == "link-down");
  REQUIRE_THAT(pair.said(1)[0].text, Contains("rail fake_0:1 has no link"));
}

TEST_CASE("a pause of this process is its own matter") {
  const tfabric::test::CapturedLog log;
  WatchedPair pair;
  transport::Request* to = pair.post_receive();
  pair.processes[1].does = tested(to);
  pair.run(1s);
  pair.processes[1].stopped = true;
  pair.run(8s);
  pair.processes[1].stopped = false;
  pair.run(1s);
  REQUIRE(pair.said(1).size() == 1);
  REQUIRE(pair.said(1)[0].cause == "self-starved");
}

TEST_CASE("notes that are malformed change nothing") {
  WatchedPair pair;
  transport::Request* to = pair.post_receive();
  for (const Note::Kind kind : {Note::Kind::introduction, Note::Kind::question, Note::Kind::answer}) {
    for (const std::size_t size : {0u, 1u, 15u, 71u, 95u, 256u}) {
      pair.wire.arriving[1].push_back({.kind = kind, .body = std::vector<std::byte>(size, std::byte{0xff})});
    }
  }
  pair.run(5s);
  REQUIRE_FALSE(good(to->test(nullptr)));
  REQUIRE(pair.said(1).empty());
}
