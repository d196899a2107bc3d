// Links that fail on purpose: what is lost, what passes, and that every packet buffer comes back.
#include "transport/tcp/link/link_fault.h"

#include <rte_mbuf.h>
#include <rte_mempool.h>

#include <algorithm>
#include <array>
#include <catch2/catch.hpp>
#include <numeric>
#include <string>
#include <vector>

#include "tests/unit/link/loop.h"
#include "tests/unit/nic/ring_device.h"
#include "transport/tcp/nic/growing_pool.h"
#include "transport/tcp/nic/pools.h"

namespace tfabric::link {
namespace {

using namespace std::chrono_literals;
using test::Collector;
using test::Hall;
using test::kAddress;

constexpr Instant kOpened{1h};

std::shared_ptr<engine::Rehearsal> rehearsal_of(const std::string& text, Instant opened = kOpened) {
  auto faults = config::parse_faults(text);
  INFO((faults ? std::string() : faults.error().message));
  REQUIRE(faults.ok());
  return std::make_shared<engine::Rehearsal>("test", std::move(*faults), opened);
}

// A link that leads back to itself, without an engine. Time is the test's.
struct Lonely {
  explicit Lonely(const std::string& faults, bool ends_with_link = false) : rehearsal(rehearsal_of(faults)) {
    nic::need_eal();
    auto port =
        nic::Port::open({.name = "eth1", .device = nic::ring_device(), .mtu = 1500, .rx_buffers = 512});
    INFO((port ? std::string() : port.error().message));
    REQUIRE(port.ok());
    link = std::make_unique<Link>(
        std::move(*port), net::InterfaceConfig{.name = "eth1", .mtu = 1500, .addresses = {{kAddress, 24}}},
        LinkOptions{.ends_with_link = ends_with_link, .rehearsal = rehearsal});
    link->watch(kOpened);
    at_rest = in_use();
  }
  [[nodiscard]] static unsigned in_use() { return nic::in_use(*nic::header_pool()); }
  // Stages so many frames of 100 bytes; those for which there is room.
  int stage(int frames) {
    const std::vector<std::byte> frame(100);
    int staged = 0;
    while (staged < frames && link->has_room() && link->send_frame(frame)) {
      ++staged;
    }
    return staged;
  }
  // Receives and frees what has arrived. Returns how many packets.
  int receive() {
    std::array<rte_mbuf*, 64> packets;
    int received = 0;
    ExchangeCounters counters;
    // A burst may be lost as a whole, with more behind it.
    for (int burst = 0; burst < 4; ++burst) {
      const std::uint16_t count = link->receive(packets, counters);
      rte_pktmbuf_free_bulk(packets.data(), count);
      received += count;
    }
    return received;
  }

  std::shared_ptr<engine::Rehearsal> rehearsal;
  std::unique_ptr<Link> link;
  unsigned at_rest = 0;
};

}  // namespace

TEST_CASE("a silent link loses what goes out and what comes in, by its direction, and looks up") {
  struct Row {
    const char* fault;
    int arrive;
    std::uint64_t lost;
  };
  const auto row = GENERATE(values<Row>({{"test:silent@1s+1s", 0, 10},
                                         {"test:silent-out@1s+1s", 0, 10},
                                         {"test:silent-in@1s+1s", 0, 10},
                                         {"test:down@1s+1s", 0, 10},
                                         {"test:loss=100%@1s+1s", 0, 10},
                                         {"test:silent@3s", 10, 0}}));
  INFO(row.fault);
  Lonely lonely(row.fault);
  Link& link = *lonely.link;
  REQUIRE(lonely.stage(10) == 10);
  link.flush();
  CHECK(lonely.receive() == 10);
  link.watch(kOpened + 1s);
  CHECK(link.link_up() == (std::string(row.fault).find("down") == std::string::npos));
  REQUIRE(lonely.stage(10) == 10);
  link.flush();
  CHECK(link.idle());
  CHECK(lonely.receive() == row.arrive);
  CHECK(lonely.rehearsal->lost() == row.lost);
  CHECK(Lonely::in_use() == lonely.at_rest);
  link.watch(kOpened + 2s);
  CHECK(link.link_up());
  REQUIRE(lonely.stage(10) == 10);
  link.flush();
  CHECK(lonely.receive() == 10);
  CHECK(Lonely::in_use() == lonely.at_rest);
}

TEST_CASE("what arrived before a link fell silent, and was not received yet, is lost") {
  Lonely lonely("test:silent-in@1s");
  REQUIRE(lonely.stage(10) == 10);
  lonely.link->flush();
  lonely.link->watch(kOpened + 1s);
  CHECK(lonely.receive() == 0);
  CHECK(lonely.link->counters().rx_packets == 0);
  CHECK(Lonely::in_use() == lonely.at_rest);
}

TEST_CASE("a share of the packets is lost in each direction, and the same ones in each run") {
  std::vector<int> arrived;
  for (int run = 0; run < 2; ++run) {
    Lonely lonely("test:loss=10%@0s");
    int sent = 0;
    for (int burst = 0; burst < 200; ++burst) {
      sent += lonely.stage(50);
      lonely.link->flush();
      REQUIRE(lonely.link->idle());
      arrived.push_back(lonely.receive());
    }
    const int all = std::accumulate(arrived.begin() + run * 200, arrived.end(), 0);
    CHECK(sent == 10'000);
    CHECK(all > 7'900);  // 81 % pass both ways
    CHECK(all < 8'300);
    CHECK(lonely.rehearsal->lost() == static_cast<std::uint64_t>(sent - all));
    CHECK(Lonely::in_use() == lonely.at_rest);
  }
  CHECK(std::equal(arrived.begin(), arrived.begin() + 200, arrived.begin() + 200));
}

TEST_CASE("a rate lets no more leave than its bits, and the others wait in their order") {
  Lonely lonely("test:rate=8M@0s+1s");  // ten packets of 100 bytes a millisecond
  Link& link = *lonely.link;
  int sent = 0, arrived = 0;
  Instant now = kOpened;
  for (; now < kOpened + 500ms; now += 1ms) {
    link.watch(now);
    sent += lonely.stage(64);
    link.flush();
    arrived += lonely.receive();
    REQUIRE_FALSE(link.idle());
  }
  CHECK(arrived >= 4'980);
  CHECK(arrived <= 5'010);
  CHECK(sent - arrived <= Link::kStage);
  CHECK_FALSE(link.stalled(now));
  CHECK(lonely.rehearsal->lost() == 0);
  SECTION("what waits leaves when the fault has ended") {
    link.watch(kOpened + 1s);
    link.flush();
    CHECK(link.idle());
    CHECK(lonely.receive() == sent - arrived);
  }
  SECTION("what waits may be dropped") {
    link.drop_staged();
    link.watch(kOpened + 1s);
    REQUIRE(lonely.stage(5) == 5);
    link.flush();
    CHECK(lonely.receive() == 5);
  }
  CHECK(Lonely::in_use() == lonely.at_rest);
}

TEST_CASE("a driver that stalls on purpose takes nothing, which counts as a stall, and receives") {
  Lonely lonely("test:driver-stall@1s+4s");
  Link& link = *lonely.link;
  REQUIRE(lonely.stage(3) == 3);
  link.flush();
  link.watch(kOpened + 1s);
  CHECK(link.link_up());
  REQUIRE(lonely.stage(10) == 10);
  link.flush();
  CHECK_FALSE(link.idle());
  CHECK(lonely.receive() == 3);
  CHECK_FALSE(link.stalled(kOpened + 1s));
  CHECK(link.stalled(kOpened + 2s));
  CHECK(link.is_stalled());
  link.watch(kOpened + 5s);
  CHECK_FALSE(link.stalled(kOpened + 5s));  // before the driver has been offered anything again
  link.flush();
  CHECK(link.idle());
  CHECK(lonely.receive() == 10);
  CHECK_FALSE(link.stalled(kOpened + 5s));
  CHECK_FALSE(link.is_stalled());
  CHECK(lonely.rehearsal->lost() == 0);
  CHECK(Lonely::in_use() == lonely.at_rest);
}

TEST_CASE(
    "what is late leaves after its delay, or a millisecond more, in its order, and at once when the fault "
    "ends") {
  Lonely lonely("test:delay=5ms@1s+1s");
  Link& link = *lonely.link;
  std::vector<Duration> arrivals;
  const auto pass = [&](Duration from, Duration to) {  // a packet each millisecond
    for (Duration at = from; at < to; at += 1ms) {
      link.watch(kOpened + 1s + at);
      REQUIRE(lonely.stage(1) == 1);
      link.flush();
      for (int received = lonely.receive(); received > 0; --received) {
        arrivals.push_back(at);
      }
    }
  };
  pass(0ms, 20ms);
  REQUIRE(arrivals.size() == 14);
  for (std::size_t i = 0; i < arrivals.size(); ++i) {
    CHECK(arrivals[i] == std::chrono::milliseconds(i + 6));
  }
  CHECK_FALSE(link.idle());
  CHECK(link.link_up());
  SECTION("the fault ends") {
    link.watch(kOpened + 2s);
    CHECK(link.idle());
    CHECK(lonely.receive() == 6);
    CHECK(lonely.rehearsal->lost() == 0);
  }
  SECTION("nothing else is sent") {
    link.watch(kOpened + 1s + 25ms);
    CHECK(link.idle());
    CHECK(lonely.receive() == 6);
  }
  SECTION("what waits is dropped") {
    link.drop_staged();
    CHECK(link.idle());
    CHECK(lonely.rehearsal->lost() == 6);
  }
  SECTION("the port is closed") {
    lonely.link.reset();
    CHECK(lonely.rehearsal->lost() == 6);
  }
  CHECK(Lonely::in_use() == lonely.at_rest);
}

TEST_CASE("no more is late at a time than there is room for: more waits, as for a busy driver") {
  Lonely lonely("test:delay=5ms@0s");
  Link& link = *lonely.link;
  int sent = 0;
  for (int burst = 0; burst < 100; ++burst) {
    sent += lonely.stage(64);
    link.flush();
  }
  CHECK(sent == LinkFault::kMostLate + Link::kStage);
  CHECK(lonely.receive() == 0);
  CHECK_FALSE(link.has_room());
  int arrived = 0;
  for (Duration at = 6ms; at < 40ms; at += 6ms) {
    link.watch(kOpened + at);
    for (int burst = 0; burst < 4; ++burst) {
      link.flush();
      arrived += lonely.receive();
    }
  }
  CHECK(arrived == sent);
  CHECK(link.idle());
  CHECK_FALSE(link.stalled(kOpened + 40ms));
  CHECK(lonely.rehearsal->lost() == 0);
  CHECK(Lonely::in_use() == lonely.at_rest);
}

TEST_CASE("what is late is lost when the link falls silent, and stays while the driver stalls") {
  const bool stalls = GENERATE(false, true);
  Lonely lonely(stalls ? "test:delay=5ms@0s+30ms;test:driver-stall@10ms+10ms"
                       : "test:delay=5ms@0s+30ms;test:silent-out@10ms+10ms");
  Link& link = *lonely.link;
  link.watch(kOpened + 9ms);
  REQUIRE(lonely.stage(10) == 10);
  link.flush();
  link.watch(kOpened + 10ms);
  link.flush();
  link.watch(kOpened + 19ms);
  CHECK(lonely.receive() == 0);
  CHECK(link.idle() == !stalls);
  link.watch(kOpened + 20ms);
  CHECK(lonely.receive() == (stalls ? 10 : 0));
  CHECK(lonely.rehearsal->lost() == (stalls ? 0u : 10u));
  CHECK(Lonely::in_use() == lonely.at_rest);
}

TEST_CASE("an engine that is frozen takes no turn, and goes on afterwards") {
  const auto whole = rehearsal_of("freeze@0s+60min", monotonic_now() - 30min);
  test::Loop loop({}, {.rehearsal = whole});
  const Instant before = loop.engine.last_turn();
  CHECK_FALSE(loop.engine.turn());
  CHECK(loop.engine.last_turn() == before);
  CHECK(loop.engine.turns() == 0);
  const auto over = rehearsal_of("freeze@0s+1min", monotonic_now() - 30min);
  test::Loop other({}, {.rehearsal = over});
  other.engine.turn();
  CHECK(other.engine.turns() == 1);
}

TEST_CASE("what a rate has held back is lost when the link falls silent") {
  Lonely lonely("test:rate=8K@0s;test:silent-out@1s+1s");
  Link& link = *lonely.link;
  link.watch(kOpened + 10ms);
  REQUIRE(lonely.stage(20) == 20);
  link.flush();
  CHECK(lonely.receive() == 1);  // it leaves whole, and is paid for later
  link.watch(kOpened + 1s);
  link.flush();
  CHECK(link.idle());
  CHECK(lonely.rehearsal->lost() == 19);
  CHECK(Lonely::in_use() == lonely.at_rest);
}

TEST_CASE("a packet that waits is not judged again: it is lost with the chance that was set, not with more") {
  Lonely lonely("test:loss=50%@0s;test:rate=8K@0s");
  Link& link = *lonely.link;
  REQUIRE(lonely.stage(64) == 64);
  link.flush();
  const std::uint64_t lost = lonely.rehearsal->lost();
  CHECK(lost > 15);
  CHECK(lost < 50);
  for (int i = 0; i < 100; ++i) {
    link.flush();
  }
  CHECK(lonely.rehearsal->lost() == lost);
  link.drop_staged();
  CHECK(Lonely::in_use() == lonely.at_rest);
}

TEST_CASE("a link that is down on purpose is away, and a wire to one process then has ended") {
  const bool ends_with_link = GENERATE(false, true);
  Lonely lonely("test:down@1s+1s", ends_with_link);
  Link& link = *lonely.link;
  link.watch(kOpened + 1s);
  CHECK(link.is_away());
  CHECK_THAT(
      link.why_away(kOpened + 1s),
      Catch::Contains(ends_with_link ? "a rehearsal (TFABRIC_FAULT, tfabric fault) has taken the link down"
                                     : "rail eth1: no link since"));
  CHECK_FALSE(link.has_ended(kOpened + 1099ms));
  CHECK(link.has_ended(kOpened + 1100ms) == ends_with_link);
  link.watch(kOpened + 2s);
  CHECK_FALSE(link.is_away());
  CHECK_FALSE(link.has_ended(kOpened + 2s));
}

namespace {

// An engine over a link that fails on purpose, of which the payload goes by reference.
struct Failing {
  explicit Failing(const std::string& faults, std::uint32_t mtu = 1500)
      : rehearsal(rehearsal_of(faults, monotonic_now())) {
    nic::need_eal();
    auto port = nic::Port::open({.name = "eth1",
                                 .device = nic::ring_device(),
                                 .mtu = static_cast<std::uint16_t>(mtu),
                                 .rx_buffers = 2048});
    INFO((port ? std::string() : port.error().message));
    REQUIRE(port.ok());
    auto made = std::make_unique<Link>(std::move(*port),
                                       net::InterfaceConfig{.name = "eth1",
                                                            .mtu = static_cast<std::uint16_t>(mtu),
                                                            .addresses = {{kAddress, 24}},
                                                            .point_to_point = true,
                                                            .trusted_wire = true},
                                       LinkOptions{.transmit_by_reference = true, .rehearsal = rehearsal});
    link = made.get();
    engine.lock().lock();
    engine.set_acceptor(&hall);
    tcp.add_link(std::move(made));
  }
  ~Failing() { engine.lock().unlock(); }
  Failing(const Failing&) = delete;
  Failing& operator=(const Failing&) = delete;
  template <class Done>
  bool until(const Done& done) {
    return test::turn_until(done, [this] { engine.turn(); });
  }
  [[nodiscard]] unsigned in_use() const {
    return nic::in_use(*nic::header_pool()) + nic::in_use(*nic::external_pool()) +
           nic::in_use(link->port().rx_pool().get());
  }

  std::shared_ptr<engine::Rehearsal> rehearsal;
  engine::Engine engine{engine::EngineOptions{}};
  Tcp& tcp = add_tcp(engine, {});
  Hall hall;
  Link* link = nullptr;
};

}  // namespace

TEST_CASE(
    "connections survive what is lost and held, and no buffer stays behind, with payload in other memory") {
  // Retransmission time-outs double from 5 ms: all of them could fall into a silence that comes every 20 ms.
  const std::string faults =
      GENERATE("eth1:loss=3%@0s", "eth1:rate=400M@0s", "eth1:delay=2ms@0s", "eth1:silent@0s+7ms/23ms",
               "eth1:silent-out@0s+6ms/17ms;eth1:loss=1%@0s;eth1:rate=900M@0s", "eth1:down@0s+7ms/23ms");
  INFO(faults);
  Failing failing(faults);
  const unsigned at_rest = failing.in_use();
  Collector client;
  TcpFlow* flow = failing.tcp.connect(*failing.link, kAddress, failing.tcp.port(), &client, 0);
  REQUIRE(flow != nullptr);
  std::string text(3'000'001, ' ');
  for (std::size_t i = 0; i < text.size(); ++i) {
    text[i] = static_cast<char>('a' + i * i % 23);
  }
  // Again and again, because a fast host may send all of it between two faults.
  const bool loses =
      faults.find("rate=400M") == std::string::npos && faults.find("delay") == std::string::npos;
  std::string sent;
  do {
    REQUIRE(flow->connection().send({.data = reinterpret_cast<const std::byte*>(text.data()),
                                     .size = static_cast<std::uint32_t>(text.size())}));
    failing.tcp.wake(*flow);
    sent += text;
    REQUIRE(failing.until([&] { return client.failed || flow->connection().stream_acked() == sent.size(); }));
    REQUIRE_FALSE(client.failed);
  } while (loses && failing.rehearsal->lost() == 0);
  CHECK((failing.hall.guest.received == sent));
  failing.tcp.close(*flow);
  REQUIRE(failing.until([&] { return failing.hall.guest.finished; }));
  failing.tcp.close(*failing.hall.accepted);
  REQUIRE(failing.until([&] { return failing.engine.flows() == 0; }));
  REQUIRE(failing.until([&] { return failing.link->idle() && !failing.link->holds_payload(); }));
  CHECK(failing.until([&] { return failing.in_use() == at_rest; }));
}

}  // namespace tfabric::link
