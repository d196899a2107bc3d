#include <catch2/catch.hpp>
#include <string>
#include <vector>

#include "meeting.h"
#include "tests/captured_log.h"
#include "transport/rdma/session/listener.h"

using namespace tfabric;
using namespace tfabric::rdma::session;
using Catch::Contains;
using tfabric::bootstrap::SocketAddress;

namespace {

const SocketAddress kPeer{ip("10.0.0.9"), 555};

std::vector<std::byte> offer_message(std::uint64_t token = kToken) {
  return encode(token, MessageType::offer, encode(with_queue_pairs(offer_of({roce_rail("a0", "10.0.0.1")}))));
}

std::vector<std::byte> text(const std::string& characters) {
  const auto bytes = std::as_bytes(std::span(characters));
  return {bytes.begin(), bytes.end()};
}

struct Entrance {
  RateLimitedLog log;
  AcceptQueue accept_queue{kToken, kStepLimit, log};
};

}  // namespace

TEST_CASE("an offer that has come with the connection is taken at once") {
  Entrance entrance;
  entrance.accept_queue.add(stream_with(offer_message(), /*stays=*/true), kPeer, kStart);
  REQUIRE(entrance.accept_queue.half_open() == 0);
  const auto acceptor = entrance.accept_queue.take(kStart);
  REQUIRE(acceptor->peer() == kPeer);
  REQUIRE(acceptor->offer().rails[0].hca == "a0");
  REQUIRE(entrance.accept_queue.take(kStart) == nullptr);
}

TEST_CASE("invalid connections are dropped at once, and a connector among them is accepted") {
  Entrance entrance;
  entrance.accept_queue.add(stream_with(text("GET / HTTP/1.1\r\n\r\n"), true), kPeer, kStart);
  entrance.accept_queue.add(stream_with(offer_message(kToken + 1), true), kPeer, kStart);
  entrance.accept_queue.add(stream_with({}, /*stays=*/false), kPeer, kStart);
  entrance.accept_queue.add(stream_with(encode(kToken, MessageType::ready, {}), true), kPeer, kStart);
  REQUIRE(entrance.accept_queue.half_open() == 0);
  entrance.accept_queue.add(stream_with({}, true), kPeer, kStart);
  entrance.accept_queue.add(stream_with(offer_message(), true), kPeer, kStart);
  REQUIRE(entrance.accept_queue.half_open() == 1);
  REQUIRE(entrance.accept_queue.take(kStart) != nullptr);
}

TEST_CASE("the log has the address and reason of a dropped connection, and counts the others of a scan") {
  const test::CapturedLog captured;
  Entrance entrance;
  for (int i = 0; i < 100; ++i) {
    entrance.accept_queue.add(stream_with({}, /*stays=*/false), kPeer, kStart);
  }
  entrance.accept_queue.add(stream_with(text("SSH-2.0"), true), kPeer, kStart + std::chrono::seconds(1));
  const auto lines = captured.lines();
  REQUIRE(lines.size() == 2);
  REQUIRE(lines[0].text ==
          "NET/tfabric: dropped a connection from 10.0.0.9 port 555: it closed the connection");
  REQUIRE_THAT(lines[1].text, Contains("not speak tfabric's RDMA bootstrap protocol (and 99 more since"));
}

TEST_CASE("a silent connection is dropped after a while") {
  Entrance entrance;
  entrance.accept_queue.add(stream_with({}, true), kPeer, kStart);
  entrance.accept_queue.add(stream_with({}, true), kPeer, kStart + std::chrono::seconds(5));
  entrance.accept_queue.step(kStart + std::chrono::seconds(10));
  REQUIRE(entrance.accept_queue.half_open() == 1);
  entrance.accept_queue.step(kStart + std::chrono::seconds(15));
  REQUIRE(entrance.accept_queue.half_open() == 0);
}

TEST_CASE("of too many half-open connections the oldest is dropped, and a connector is still accepted") {
  Entrance entrance;
  for (std::size_t i = 0; i < kMaxHalfOpen + 10; ++i) {
    entrance.accept_queue.add(stream_with({}, true), kPeer, kStart);
    REQUIRE(entrance.accept_queue.half_open() <= kMaxHalfOpen);
  }
  entrance.accept_queue.add(stream_with(offer_message(), true), kPeer, kStart);
  REQUIRE(entrance.accept_queue.half_open() == kMaxHalfOpen);
  REQUIRE(entrance.accept_queue.take(kStart) != nullptr);
}

TEST_CASE("a rank with the token and a malformed offer gets an error message") {
  Entrance entrance;
  std::shared_ptr<FakeWire> wire;
  entrance.accept_queue.add(stream_with(encode(kToken, MessageType::offer, {}), true, &wire), kPeer, kStart);
  REQUIRE(entrance.accept_queue.take(kStart) == nullptr);
  const std::string told(
      reinterpret_cast<const char*>(&*wire->to_connector.bytes.begin()) + kMessageHeaderBytes, 9);
  REQUIRE(told == "the offer");
}

TEST_CASE("a connector that has left before it was accepted is passed over") {
  Entrance entrance;
  entrance.accept_queue.add(stream_with(offer_message(), /*stays=*/false), kPeer, kStart);
  entrance.accept_queue.add(stream_with(offer_message(), true), {ip("10.0.0.10"), 1}, kStart);
  REQUIRE(entrance.accept_queue.take(kStart)->peer().port == 1);
  REQUIRE(entrance.accept_queue.take(kStart) == nullptr);
}

TEST_CASE("one line is written each second, and the next counts the suppressed lines") {
  const test::CapturedLog captured;
  RateLimitedLog log;
  for (int i = 0; i < 10; ++i) {
    log.write("a stranger", Instant() + std::chrono::milliseconds(100 * i));
  }
  REQUIRE(captured.lines().size() == 1);
  REQUIRE(captured.lines()[0].text == "NET/tfabric: a stranger");
  log.write("another", Instant() + std::chrono::seconds(1));
  REQUIRE(captured.lines().back().text == "NET/tfabric: another (and 9 more since the last such line)");
  log.write("a third", Instant() + std::chrono::seconds(3));
  REQUIRE(captured.lines().back().text == "NET/tfabric: a third");
}
