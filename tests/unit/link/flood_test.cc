// Established traffic while the wire is flooded: nothing wrong is delivered, nothing is reset, the transfer
// takes hardly more turns than without, and memory stays what it was.
//
// Turns, not time: in each, the engine gets as many hostile frames as frames of the transfer, which its
// window keeps to half of what a turn can take in.
#include <optional>
#include <vector>

#include "tests/unit/link/allocations.h"
#include "tests/unit/link/attacker.h"
#include "tests/unit/link/loop.h"
#include "transport/session/acceptor.h"

namespace tfabric::link {
namespace {

using namespace test;

constexpr std::uint32_t kSegment = 1448;
constexpr std::uint32_t kSegmentsInFlight = 8;
constexpr int kHostileFrames = 12;  // a turn
constexpr std::size_t kBytes = 6'000'000;
constexpr unsigned kSeed = 20261121;

Options small_window() {
  Options options;
  options.tcp.receive_buffer = kSegmentsInFlight * kSegment;
  // A slow machine must not make retransmissions of what is only waiting.
  options.tcp.min_rto = options.tcp.initial_rto = options.tcp.max_rto = std::chrono::seconds(60);
  options.tcp.user_timeout = options.tcp.connect_timeout = std::chrono::minutes(10);
  return options;
}

// A loop with one established flow whose bytes are checked.
struct Traffic {
  Traffic() : loop(small_window()), text(kBytes, ' ') {
    for (std::size_t i = 0; i < text.size(); ++i) {
      text[i] = static_cast<char>('a' + i * 7 % 23 + i / 4096 % 3);
    }
    loop.hall.guest.received.reserve(3 * kBytes);
    flow = loop.tcp.connect(*loop.link, kAddress, loop.tcp.port(), &client, 0);
    REQUIRE(flow != nullptr);
    REQUIRE(loop.until([&] { return flow->connection().established() && loop.hall.accepted != nullptr; }));
    loop.engine.set_acceptor(&acceptor);
    const Victim victim{.mac = loop.link->interface().config().mac,
                        .address = flow->key().local,
                        .peer = flow->key().remote,
                        .ports = flow->key().ports,
                        .listening_port = loop.tcp.port()};
    attacker.emplace(*loop.link, victim, kSeed);
  }
  ~Traffic() {
    acceptor.clear();
    loop.engine.set_acceptor(nullptr);
  }
  Traffic(const Traffic&) = delete;
  Traffic& operator=(const Traffic&) = delete;

  // Sends the text, with `before_turn()` ahead of each turn; returns how many turns that took.
  template <class BeforeTurn>
  int transfer(const BeforeTurn& before_turn) {
    Collector& guest = loop.hall.guest;
    guest.received.clear();
    REQUIRE(flow->connection().send({.data = reinterpret_cast<const std::byte*>(text.data()),
                                     .size = static_cast<std::uint32_t>(text.size())}));
    loop.tcp.wake(*flow);
    int turns = 0;
    for (; guest.received.size() < text.size() && turns < 1'000'000; ++turns) {
      before_turn();
      loop.engine.turn();
    }
    REQUIRE(guest.received == text);
    REQUIRE_FALSE(client.failed);
    REQUIRE_FALSE(guest.failed);
    return turns;
  }

  void attack(Flood flood) {
    const stack::ConnectionInfo info = flow->connection().info();
    attacker->send(flood, info.rcv_nxt, info.snd_nxt);
  }

  Loop loop;
  session::CommTable comms;
  session::Acceptor acceptor{comms};
  Collector client;
  TcpFlow* flow = nullptr;
  std::string text;
  std::optional<Attacker> attacker;
};

}  // namespace

TEST_CASE("a flood takes less than a tenth of the turns, and no memory") {
  const Flood flood =
      GENERATE(Flood::syns, Flood::guesses, Flood::unknown, Flood::garbage, Flood::errors, Flood::all);
  INFO(to_string(flood) << ", seed " << kSeed);
  Traffic traffic;
  const int alone = traffic.transfer([] {});
  const auto hostile = [&] {
    for (int i = 0; i < kHostileFrames; ++i) {
      traffic.attack(flood);
    }
  };
  // Fills the table of half-open connections, which is bounded.
  while (traffic.loop.tcp.all_counters().cookies_sent == 0) {
    traffic.attack(Flood::syns);
    traffic.loop.engine.turn();
  }
  const int first = traffic.transfer(hostile);
  const std::size_t memory = tfabric::test::live_bytes(), flows = traffic.loop.engine.flows();
  const int second = traffic.transfer(hostile);
  INFO(alone << " turns alone, " << first << " and " << second << " in the flood");
  CHECK(first * 9 <= alone * 10);
  CHECK(second * 9 <= alone * 10);
  CHECK(tfabric::test::live_bytes() <= memory + 64 * 1024);
  CHECK(traffic.loop.engine.flows() <= flows + 8);
  CHECK(traffic.flow->connection().info().fast_retransmits == 0);
  CHECK(traffic.flow->connection().info().timeouts == 0);
  CHECK(traffic.flow->connection().info().mss == kSegment);
  const link::Counters& counters = traffic.loop.tcp.all_counters();
  CHECK((flood != Flood::syns || counters.cookies_sent > 1000));
  CHECK(counters.cookies_taken == 0);
}

TEST_CASE("half-open connections that send nothing, or garbage, are bounded and delay no other connection") {
  const bool silent = GENERATE(true, false);
  INFO((silent ? "silent" : "rubbish"));
  Traffic traffic;
  Loop& loop = traffic.loop;
  const int alone = traffic.transfer([] {});
  std::vector<Collector> half_open(3000);
  std::size_t opened = 0;
  const auto open_one = [&] {
    if (opened == half_open.size()) {
      return;
    }
    TcpFlow* flow = loop.tcp.connect(*loop.link, kAddress, loop.tcp.port(), &half_open[opened++], 0);
    REQUIRE(flow != nullptr);
    if (!silent) {
      constexpr std::array<std::byte, 40> kRubbish{std::byte{0x5a}};
      REQUIRE(flow->connection().send_inline(kRubbish));
    }
  };
  const int turns = traffic.transfer(open_one);
  INFO(alone << " turns alone, " << turns << " with strangers");
  CHECK(turns * 9 <= alone * 10);
  while (opened < half_open.size()) {
    open_one();
    loop.engine.turn();
  }
  for (int i = 0; i < 1000; ++i) {
    loop.engine.turn();
  }
  const auto gone =
      std::count_if(half_open.begin(), half_open.end(), [](const Collector& c) { return c.failed; });
  if (silent) {
    CHECK(traffic.acceptor.half_open() == 1024);
    CHECK(gone == 3000 - 1024);
    CHECK_FALSE(half_open.back().failed);  // the oldest go first
  } else {
    CHECK(traffic.acceptor.half_open() == 0);
    CHECK(gone == 3000);
  }
  CHECK(traffic.transfer([] {}) * 9 <= alone * 10);
}

TEST_CASE("a connection that is opened during a SYN flood is accepted by a cookie") {
  Traffic traffic;
  Loop& loop = traffic.loop;
  while (loop.tcp.all_counters().cookies_sent == 0) {
    traffic.attack(Flood::syns);
    loop.engine.turn();
  }
  loop.engine.set_acceptor(&loop.hall);
  Collector late;
  TcpFlow* flow = loop.tcp.connect(*loop.link, kAddress, loop.tcp.port(), &late, 0);
  REQUIRE(flow != nullptr);
  loop.hall.guest.received.clear();
  REQUIRE(flow->connection().send({.data = reinterpret_cast<const std::byte*>(traffic.text.data()),
                                   .size = static_cast<std::uint32_t>(traffic.text.size())}));
  REQUIRE(loop.until([&] {
    traffic.attack(Flood::syns);
    return loop.hall.guest.received.size() == traffic.text.size();
  }));
  CHECK(loop.hall.guest.received == traffic.text);
  CHECK(loop.tcp.all_counters().cookies_taken == 1);
}

TEST_CASE("TIME-WAIT is bounded in number, and its ports are used again") {
  Options options;
  options.ports = 8;
  options.first_port = 50000;
  options.port = 4000;
  options.max_time_wait = 3;
  Loop loop(options);
  // Each connection leaves its ports in TIME-WAIT; there are far fewer of them than connections.
  for (int i = 0; i < 100; ++i) {
    Collector client;
    loop.hall.guest = Collector();
    TcpFlow* flow = loop.tcp.connect(*loop.link, kAddress, loop.tcp.port(), &client, 0);
    REQUIRE(flow != nullptr);
    REQUIRE(loop.until([&] { return flow->connection().established(); }));
    loop.tcp.close(*flow);
    REQUIRE(loop.until([&] { return loop.hall.guest.finished; }));
    loop.tcp.close(*loop.hall.accepted);
    loop.engine.turn();
    loop.engine.turn();
    REQUIRE_FALSE(client.failed);
  }
  CHECK(loop.tcp.all_counters().time_wait_dropped > 50);
  CHECK(loop.until([&] { return loop.engine.flows() == 0; }));
}

}  // namespace tfabric::link
