#include "tools/control/channel.h"

#include <catch2/catch.hpp>
#include <string>
#include <thread>
#include <utility>

#include "tests/unit/control/stream_pair.h"
#include "tools/control/limits.h"

using namespace tfabric;
using namespace tfabric::control;
using test::StreamPair;

namespace {

constexpr auto kLong = std::chrono::minutes(2);
constexpr auto kShort = std::chrono::milliseconds(20);

}  // namespace

TEST_CASE("control messages arrive whole and in order") {
  StreamPair pair;
  Channel a(std::move(pair.ours), "b");
  Channel b(std::move(pair.theirs), "a");
  REQUIRE(a.send({{"n", 1}, {"text", std::string(30000, 'x')}}));
  REQUIRE(a.send({{"n", 2}}));
  const auto first = b.receive(kLong, "first");
  REQUIRE(first);
  CHECK((*first)["text"].get<std::string>().size() == 30000);
  const auto second = b.receive(kLong, "second");
  REQUIRE(second);
  CHECK((*second)["n"] == 2);
}

TEST_CASE("a peer that ends, fails or stays silent is an error that names it") {
  StreamPair pair;
  Channel a(std::move(pair.ours), "rank 7");
  {
    Channel b(std::move(pair.theirs), "a");
    const auto silent = a.receive(kShort, "its handles");
    REQUIRE_FALSE(silent);
    CHECK(silent.error().message.find("its handles from rank 7") != std::string::npos);
    b.send_failure({Errc::unusable, "no device"});
  }
  CHECK_FALSE(a.check_peer());
  const auto failed = a.receive(kLong, "x");
  REQUIRE_FALSE(failed);
  CHECK(failed.error().code == Errc::unusable);
  CHECK(failed.error().message == "rank 7: no device");
  const auto gone = a.receive(kLong, "x");
  REQUIRE_FALSE(gone);
  CHECK(gone.error().message.find("rank 7 has gone") != std::string::npos);
}

TEST_CASE("garbage on the control connection is refused, and its length field allocates nothing") {
  for (const std::string& garbage : {std::string("GET / HTTP/1.1\r\n\r\n"), std::string("\0\0\0\2[]", 6),
                                     std::string("\0\0\0\3abc", 7), std::string("\xff\xff\xff\xff", 4)}) {
    StreamPair pair;
    Channel a(std::move(pair.ours), "the other side");
    pair.write(garbage);
    const auto message = a.receive(kLong, "a greeting");
    REQUIRE_FALSE(message);
    CHECK_THAT(message.error().message,
               Catch::StartsWith("the other side does not speak tfabric's control protocol: it has sent "));
  }
}

TEST_CASE("a peer that never pauses keeps neither a reader nor a check of it from coming back") {
  StreamPair pair;
  Channel a(std::move(pair.ours), "the other side");
  std::string bytes;
  for (int i = 0; i < 1000; ++i) {
    bytes += frame_of(Json::object());
  }
  std::jthread flood([&](const std::stop_token& stop) {
    while (!stop.stop_requested() && pair.offer(bytes)) {
    }
  });
  Status status;
  while (status) {
    status = a.check_peer();
  }
  CHECK_THAT(status.error().message, Catch::Contains("that nothing asked for"));
}

TEST_CASE("messages that nothing asked for end the connection, and do not pile up") {
  StreamPair pair;
  Channel a(std::move(pair.ours), "the client");
  std::string frames;
  for (std::size_t i = 0; i < 100; ++i) {
    frames += frame_of({{"n", i}});
  }
  pair.write(frames);
  // The messages from before the limit are still there, in their order; then comes the fault.
  for (std::size_t i = 0; i < kMaxWaitingMessages; ++i) {
    const auto message = a.receive(kLong, "a message");
    REQUIRE(message);
    CHECK((*message)["n"] == i);
  }
  const auto after = a.receive(kLong, "a message");
  REQUIRE_FALSE(after);
  CHECK_THAT(after.error().message, Catch::Contains("more than 16 messages that nothing asked for"));
}

TEST_CASE("a failure that is no text, or has no code, is a malformed message and not an exception") {
  for (const Json& failure :
       {Json{{"error", 5}}, Json{{"error", "x"}, {"code", "y"}}, Json{{"error", "x"}},
        Json{{"error", "x"}, {"code", 77}}, Json{{"error", Json::array()}, {"code", 1}}}) {
    CAPTURE(failure.dump());
    StreamPair pair;
    Channel a(std::move(pair.ours), "the client");
    pair.write(frame_of(failure));
    const auto message = a.receive(kLong, "a message");
    REQUIRE_FALSE(message);
    CHECK_THAT(message.error().message, Catch::StartsWith("the client has sent a malformed message: "));
  }
}

TEST_CASE("a failure is printed with its escapes made visible, and none of its lines begins where ours do") {
  StreamPair pair;
  Channel a(std::move(pair.ours), "the server");
  pair.write(frame_of({{"error", "\x1b]0;title\x07red\nverdict: fine"}, {"code", 4}}));
  const auto message = a.receive(kLong, "a message");
  REQUIRE_FALSE(message);
  CHECK(message.error().message == "the server: \\x1b]0;title\\x07red\n    verdict: fine");
}

TEST_CASE("a failure is cut to what its receiver takes") {
  StreamPair pair;
  Channel a(std::move(pair.ours), "b");
  Channel b(std::move(pair.theirs), "a");
  a.send_failure({Errc::unusable, std::string(1 << 20, '\xff')});
  const auto message = b.receive(kLong, "a message");
  REQUIRE_FALSE(message);
  CHECK(message.error().code == Errc::unusable);
  CHECK(message.error().message.size() < kMaxFailureBytes);
}
