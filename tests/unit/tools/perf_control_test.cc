#include <sys/socket.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <string>

#include "tools/perf/control.h"

using namespace tfabric;
using namespace tfabric::perf;

namespace {

struct Pair {
  int fds[2] = {-1, -1};
  Pair() { REQUIRE(socketpair(AF_UNIX, SOCK_STREAM, 0, fds) == 0); }
};

constexpr auto kLong = std::chrono::minutes(2);
constexpr auto kShort = std::chrono::milliseconds(20);

}  // namespace

TEST_CASE("control messages arrive whole and in order") {
  Pair pair;
  ControlChannel a(pair.fds[0], "b");
  ControlChannel b(pair.fds[1], "a");
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
  Pair pair;
  ControlChannel a(pair.fds[0], "rank 7");
  {
    ControlChannel b(pair.fds[1], "a");
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
    Pair pair;
    ControlChannel a(pair.fds[0], "the other side");
    REQUIRE(write(pair.fds[1], garbage.data(), garbage.size()) == static_cast<ssize_t>(garbage.size()));
    const auto message = a.receive(kLong, "a greeting");
    REQUIRE_FALSE(message);
    CHECK(message.error().message == "the other side does not speak the protocol of tfabric perf");
    close(pair.fds[1]);
  }
}

TEST_CASE("the watchdog ends a loop without progress, and says what it waited for") {
  Pair pair;
  ControlChannel a(pair.fds[0], "b");
  ControlChannel b(pair.fds[1], "a");
  Watchdog watchdog(a, std::chrono::milliseconds(60), /*show_progress=*/false);
  watchdog.begin([] { return std::string("3 of 8 sends done"); });
  Status status;
  while (status) status = watchdog.idle();
  CHECK(status.error().message.find("3 of 8 sends done") != std::string::npos);
}

TEST_CASE("the watchdog detects the peer's failure while this side waits for data") {
  Pair pair;
  ControlChannel a(pair.fds[0], "the server");
  ControlChannel b(pair.fds[1], "the client");
  b.send_failure({Errc::remote, "its cable was cut"});
  Watchdog watchdog(a, std::chrono::minutes(10), /*show_progress=*/false);
  watchdog.begin([] { return std::string("waiting"); });
  Status status;
  while (status) status = watchdog.idle();
  CHECK(status.error().message == "the server: its cable was cut");
}

TEST_CASE("the watchdog detects the peer's failure during many short operations") {
  Pair pair;
  ControlChannel a(pair.fds[0], "the coordinator");
  close(pair.fds[1]);
  Watchdog watchdog(a, std::chrono::minutes(10), /*show_progress=*/false);
  Status status;
  constexpr int kOperations = 100'000;
  constexpr int kPolls = 10;
  for (int operation = 0; status && operation < kOperations; ++operation) {
    watchdog.begin([] { return std::string("waiting"); });
    for (int poll = 0; status && poll < kPolls; ++poll) status = watchdog.idle();
    watchdog.progress();
    watchdog.end();
  }
  REQUIRE_FALSE(status);
  CHECK(status.error().message.find("the coordinator has gone") != std::string::npos);
}
