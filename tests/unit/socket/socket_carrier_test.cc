#include "transport/socket/socket_carrier.h"

#include <sys/resource.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <string>

#include "tests/unit/socket/socket_line.h"

using namespace tfabric;
using namespace tfabric::socket;
using namespace tfabric::socket::test;
using engine::ConnectionError;

TEST_CASE("bytes arrive both ways, and count as arrived once the peer reports them") {
  Line line;
  line.connect();
  const std::string there = text_of(3'000'001), back = text_of(1'000'003);
  REQUIRE(send_all(*line.flow, there));
  REQUIRE(send_all(*line.there.accepted, back));
  REQUIRE(until(line.a, line.b, [&] {
    return line.there.received.size() >= there.size() && line.here.received.size() >= back.size();
  }));
  CHECK(line.there.received == there);
  CHECK(line.here.received == back);
  CHECK(line.flow->stream().stream_written() == there.size());
  CHECK(line.flow->stream().stream_acked() == 0);
  // That the network has brought them is known before: a process that reads late is no slow rail.
  REQUIRE(until(line.a, line.b, [&] { return line.flow->stream().info().carried >= there.size(); }));
  CHECK(line.flow->stream().info().delivered == 0);
  CHECK(line.flow->on_report(there.size()));
  CHECK(line.flow->stream().stream_acked() == there.size());
  CHECK_FALSE(line.flow->on_report(there.size() + 1));
  CHECK_FALSE(line.flow->on_report(there.size() - 1));
}

TEST_CASE("a flow takes no more than its buffer beyond what was reported") {
  Line line;
  line.connect();
  const std::string much = text_of(8u << 20);
  CHECK(line.flow->stream().send_room() == much.size());
  REQUIRE(send_all(*line.flow, much));
  CHECK(line.flow->stream().send_room() == 0);
  CHECK_FALSE(send_all(*line.flow, "x"));
  REQUIRE(until(line.a, line.b, [&] { return line.there.received.size() == much.size(); }));
  REQUIRE(line.flow->on_report(1000));
  CHECK(line.flow->stream().send_room() == 1000);
}

TEST_CASE("what a handler does not take stays, and is read when it wants more") {
  Line line;
  line.there.appetite = 5;
  line.connect();
  const std::string digits = "0123456789";
  REQUIRE(send_all(*line.flow, digits));
  REQUIRE(until(line.a, line.b, [&] { return line.there.received.size() == 5; }));
  line.there.appetite = 100;
  REQUIRE(until(line.a, line.b, [&] { return line.there.received.size() == 10; }));
  CHECK(line.there.received == digits);
}

TEST_CASE("a flow that is closed in order delivers everything first") {
  Line line;
  line.connect();
  const std::string text = text_of(5'000'000);
  REQUIRE(send_all(*line.flow, text));
  line.flow->close();
  REQUIRE(until(line.a, line.b, [&] { return line.there.finished; }));
  CHECK(line.there.received == text);
  line.there.accepted->close();
  REQUIRE(until(line.a, line.b, [&] { return line.a.engine.flows() + line.b.engine.flows() == 0; }));
}

TEST_CASE("a flow that is aborted is a reset to the peer, after what it has sent") {
  Line line;
  line.connect();
  const std::string all = "all of it";
  REQUIRE(send_all(*line.flow, all));
  REQUIRE(until(line.a, line.b, [&] { return line.there.received == all; }));
  const bool reason = GENERATE(false, true);
  line.flow->abort(reason ? "because" : "");
  REQUIRE(until(line.a, line.b,
                [&] { return line.there.error != ConnectionError::none || line.there.finished; }));
  CHECK(line.a.engine.flows() == 0);
  CHECK(line.there.finished == reason);  // so that a record with the reason is not overtaken
  CHECK(line.there.error == (reason ? ConnectionError::none : ConnectionError::reset));
}

TEST_CASE("a port at which nothing listens refuses, and one of another family cannot be asked") {
  Line line;
  const engine::Guard guard(line.a.engine.lock());
  REQUIRE(line.a.carrier->connect(kLoopback, 1, &line.here, 0) != nullptr);
  while (line.here.error == ConnectionError::none) {
    line.a.engine.turn();
  }
  CHECK(line.here.error == ConnectionError::refused);
  CHECK(line.a.engine.flows() == 0);
  CHECK(line.a.carrier->connect(*net::parse_ip("fd00::1"), 1, &line.here, 0) == nullptr);
}

TEST_CASE("lanes are scarce once half of the files that the process may open are") {
  Line line;
  const engine::Guard guard(line.a.engine.lock());
  CHECK_FALSE(line.a.carrier->is_scarce());
  rlimit before{};
  REQUIRE(::getrlimit(RLIMIT_NOFILE, &before) == 0);
  const int next = ::dup(0);
  REQUIRE(next >= 0);
  ::close(next);
  rlimit limit = before;
  limit.rlim_cur = 2 * static_cast<rlim_t>(next) + 2;
  REQUIRE(::setrlimit(RLIMIT_NOFILE, &limit) == 0);
  CHECK_FALSE(line.a.carrier->is_scarce());
  limit.rlim_cur = 2 * static_cast<rlim_t>(next);
  REQUIRE(::setrlimit(RLIMIT_NOFILE, &limit) == 0);
  CHECK(line.a.carrier->is_scarce());
  REQUIRE(::setrlimit(RLIMIT_NOFILE, &before) == 0);
  CHECK_FALSE(line.a.carrier->is_scarce());
}

TEST_CASE("a carrier at an address that the host does not have says so") {
  engine::Engine engine{{}};
  const auto opened = SocketCarrier::make(
      engine,
      {.rail = "eth9", .interface = "eth9", .addresses = {*net::parse_ip("192.0.2.1")}, .limits = {}});
  REQUIRE_FALSE(opened.ok());
  CHECK(opened.error().message.find("rail eth9: cannot listen on 192.0.2.1") != std::string::npos);
}
