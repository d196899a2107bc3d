// Connections before their greeting, in virtual time: each has its own, and none gets an answer without the
// token.
#include "tools/control/waiting_room.h"

#include <catch2/catch.hpp>
#include <deque>
#include <string>
#include <utility>
#include <vector>

#include "tests/unit/control/stream_pair.h"
#include "tools/control/frames.h"
#include "tools/control/greeting.h"
#include "tools/control/limits.h"

using namespace tfabric;
using namespace tfabric::control;
using test::StreamPair;

namespace {

constexpr Instant kStart{std::chrono::seconds(1000)};
const Invitation kInvitation{.service = "tfabric perf", .token = "0123456789abcdef"};

struct Room {
  std::vector<std::string> lines;
  WaitingRoom room{kInvitation, [this](const std::string& line) { lines.push_back(line); }};
  std::deque<StreamPair> clients;

  const StreamPair& arrive(Instant now, const std::string& bytes = "") {
    StreamPair& pair = clients.emplace_back();
    pair.write(bytes);
    room.enter(std::move(pair.ours), "10.0.0.7 port " + std::to_string(clients.size()), now);
    return pair;
  }
};

std::string greeting(const Invitation& invitation = kInvitation) { return frame_of(greeting_of(invitation)); }

}  // namespace

TEST_CASE("a client that shows the token comes in, and nothing behind its greeting is read") {
  Room room;
  const StreamPair& client = room.arrive(kStart, greeting() + "more");
  const auto connection = room.room.look(kStart);
  REQUIRE(connection);
  CHECK(*client.read() == frame_of(welcome()));
  char rest[8];
  REQUIRE(recv(connection->get(), rest, sizeof rest, MSG_DONTWAIT) == 4);
  CHECK(std::string(rest, 4) == "more");
  CHECK(room.lines.empty());
  CHECK(room.room.next_deadline() == kNever);
}

TEST_CASE("seven silent connections do not delay the true client, and time out side by side") {
  Room room;
  for (int i = 0; i < 7; ++i) {
    room.arrive(kStart);
  }
  CHECK_FALSE(room.room.look(kStart));
  const Instant later = kStart + std::chrono::milliseconds(1);
  room.arrive(later, greeting());
  CHECK(room.room.look(later));
  CHECK(room.room.descriptors().size() == 7);
  CHECK(room.room.next_deadline() == kStart + kGreetingTime);

  CHECK_FALSE(room.room.look(kStart + kGreetingTime - std::chrono::nanoseconds(1)));
  CHECK(room.lines.empty());
  CHECK_FALSE(room.room.look(kStart + kGreetingTime));
  CHECK(room.room.descriptors().empty());
  REQUIRE(room.lines.size() == 7);
  CHECK(room.lines[0] == "a connection from 10.0.0.7 port 1 is refused: it has not greeted within 5 s");
  CHECK_FALSE(room.clients[0].read());
}

TEST_CASE("the time for a greeting is one for all of its bytes") {
  Room room;
  const std::string bytes = greeting();
  const StreamPair& slow = room.arrive(kStart);
  Instant now = kStart;
  for (std::size_t at = 0; now < kStart + kGreetingTime; ++at, now += std::chrono::seconds(1)) {
    slow.write(bytes.substr(at, 1));
    CHECK_FALSE(room.room.look(now));
  }
  CHECK_FALSE(room.room.look(now));
  CHECK(room.lines.size() == 1);
}

TEST_CASE("who does not show the token gets no byte") {
  for (const std::string& bytes :
       {std::string("GET / HTTP/1.1\r\n\r\n"), std::string("\0\0\0\2[]", 6), std::string("\0\0\0\0", 4),
        std::string("\xff\xff\xff\xff", 4), frame_of({{"greeting", 1}}), frame_of({{"error", 5}}),
        frame_of({{"greeting", "tfabric-perf-1"}}), frame_of({{"token", 7}}),
        frame_of({{"greeting", "tfabric-control-2"}, {"service", "tfabric perf"}}),
        frame_of({{"greeting", "\x1b]0;pwned\x07"}, {"service", "\x1b[31m"}, {"token", "\x1b[31m"}}),
        greeting({.service = "tfabric perf", .token = "0123456789abcdeF"}),
        greeting({.service = "tfabric perf", .token = ""})}) {
    CAPTURE(bytes);
    Room room;
    const StreamPair& stranger = room.arrive(kStart, bytes);
    CHECK_FALSE(room.room.look(kStart));
    REQUIRE(room.lines.size() == 1);
    CHECK(room.lines[0].find('\x1b') == std::string::npos);
    CHECK_FALSE(stranger.read());
    room.arrive(kStart, greeting());
    CHECK(room.room.look(kStart));
  }
}

TEST_CASE("a client with the token that expects another service gets an answer that names the one here") {
  Room room;
  const StreamPair& other =
      room.arrive(kStart, greeting({.service = "tfabric check", .token = kInvitation.token}));
  Json old = greeting_of(kInvitation);
  old["greeting"] = "tfabric-control-1";
  const StreamPair& older = room.arrive(kStart, frame_of(old));
  CHECK_FALSE(room.room.look(kStart));
  CHECK_THAT(other.read().value(), Catch::Contains("`tfabric perf --listen` runs there"));
  CHECK_THAT(older.read().value(), Catch::Contains("another version"));
  CHECK(room.lines.size() == 2);
}

TEST_CASE("a client that ends before its greeting is dropped at once") {
  Room room;
  room.arrive(kStart).end();
  CHECK_FALSE(room.room.look(kStart));
  CHECK(room.room.descriptors().empty());
}

TEST_CASE("the oldest of too many makes room, and a flood prints a bounded number of lines") {
  Room room;
  for (std::size_t i = 0; i < 10 * kMaxGuests; ++i) {
    room.arrive(kStart);
    CHECK(room.room.descriptors().size() <= kMaxGuests);
  }
  CHECK(room.lines.size() == kMaxRefusalLines);
  CHECK_THAT(room.lines.back(), Catch::EndsWith("; further ones are refused without a line"));
  room.arrive(kStart, greeting());
  CHECK(room.room.look(kStart));
}
