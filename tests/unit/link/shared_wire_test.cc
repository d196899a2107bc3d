// Two engines of a process on one wire: each has a ring that leads back to itself, as if each queue's hash
// chose the sender's engine. All segments for the other engine are handed over.
#include <array>
#include <atomic>
#include <catch2/catch.hpp>
#include <memory>
#include <mutex>
#include <string>
#include <thread>

#include "tests/unit/link/loop.h"
#include "transport/tcp/link/exchange.h"
#include "transport/tcp/nic/device_arguments.h"

namespace tfabric::link {
namespace {

using namespace test;

constexpr PortMap kPorts(50000, 2000, 2, 4000);

struct Member {
  Member(std::uint16_t self, const std::shared_ptr<Exchange>& exchange, bool hashed,
         const std::shared_ptr<engine::Rehearsal>& rehearsal = nullptr)
      : engine({.number = self}),
        tcp(add_tcp(engine, {.port = kPorts.listening_of(self),
                             .first_port = kPorts.first_of(self),
                             .ports = kPorts.count_of(self),
                             .listeners = 2})) {
    engine.set_acceptor(&hall);
    auto port =
        nic::Port::open({.name = "shared", .device = nic::kLoopDevice, .mtu = 1500, .rx_buffers = 2048});
    INFO((port ? std::string() : port.error().message));
    REQUIRE(port.ok());
    auto made = std::make_unique<Link>(std::move(*port),
                                       net::InterfaceConfig{.name = "shared",
                                                            .mtu = 1500,
                                                            .addresses = {{kAddress, 24}},
                                                            .point_to_point = true,
                                                            .trusted_wire = true},
                                       LinkOptions{.rehearsal = rehearsal},
                                       ExchangeMember{.exchange = exchange, .self = self, .hashed = hashed});
    link = made.get();
    const std::lock_guard guard(engine.lock());
    tcp.add_link(std::move(made));
  }

  [[nodiscard]] const ExchangeCounters& exchanged() const { return tcp.all_counters().exchange; }

  engine::Engine engine;
  Tcp& tcp;
  Hall hall;
  Link* link = nullptr;
};

struct Shared {
  explicit Shared(bool hashed, const std::shared_ptr<engine::Rehearsal>& rehearsal = nullptr) {
    nic::need_eal();
    exchange = std::make_shared<Exchange>(kPorts);
    for (std::uint16_t self = 0; self < 2; ++self) {
      members[self] = std::make_unique<Member>(self, exchange, hashed, rehearsal);
    }
  }
  ~Shared() {
    for (auto& member : members) {
      const std::lock_guard guard(member->engine.lock());
      member->engine.halt();
    }
  }
  Shared(const Shared&) = delete;
  Shared& operator=(const Shared&) = delete;

  template <class Done>
  bool until(const Done& done) {
    return turn_until(done, [this] {
      for (auto& member : members) {
        member->engine.progress();
      }
    });
  }
  TcpFlow* connect(std::uint16_t from, std::uint16_t to, Collector& client) {
    Member& member = *members[from];
    const std::lock_guard guard(member.engine.lock());
    return member.tcp.connect(*member.link, kAddress, kPorts.listening_of(to), &client, 0);
  }
  // Sends from engine `from`; returns true if everything has arrived at engine `to`.
  bool carries(std::uint16_t from, std::uint16_t to, TcpFlow& flow, const std::string& text) {
    engine::Engine& engine = members[from]->engine;
    {
      const std::lock_guard guard(engine.lock());
      REQUIRE(flow.connection().send({.data = reinterpret_cast<const std::byte*>(text.data()),
                                      .size = static_cast<std::uint32_t>(text.size())}));
      members[from]->tcp.wake(flow);
    }
    return until([&] { return flow.connection().stream_acked() == text.size(); }) &&
           members[to]->hall.guest.received == text;
  }
  void close(std::uint16_t engine, TcpFlow& flow) {
    const std::lock_guard guard(members[engine]->engine.lock());
    members[engine]->tcp.close(flow);
  }

  std::shared_ptr<Exchange> exchange;
  std::array<std::unique_ptr<Member>, 2> members;
};

}  // namespace

TEST_CASE("engines on one wire reach each other, by what each hands over to the other") {
  Shared shared(/*hashed=*/false);
  Collector client;
  TcpFlow* flow = shared.connect(0, 1, client);
  REQUIRE(flow != nullptr);
  const std::string text(300'000, 'x');
  REQUIRE(shared.carries(0, 1, *flow, text));
  for (const auto& member : shared.members) {
    CHECK(member->exchanged().own == 0);
    CHECK(member->exchanged().forwarded > 0);
    CHECK(member->exchanged().received > 0);
    CHECK(member->exchanged().dropped == 0);
    CHECK(member->tcp.all_counters().ports_tried == 0);
    CHECK(member->tcp.all_counters().no_flow == 0);
  }
  shared.close(0, *flow);
  REQUIRE(shared.until([&] { return shared.members[1]->hall.guest.finished; }));
  shared.close(1, *shared.members[1]->hall.accepted);
  CHECK(shared.until(
      [&] { return shared.members[0]->engine.flows() + shared.members[1]->engine.flows() == 0; }));
  CHECK_FALSE(client.failed);
}

TEST_CASE("a connection that no port leads to the right queue is opened after bounded tries, and lasts") {
  Shared shared(/*hashed=*/true);
  Collector client;
  TcpFlow* flow = shared.connect(0, 1, client);
  REQUIRE(flow != nullptr);
  const std::uint16_t first = flow->key().ports.local;
  REQUIRE(shared.carries(0, 1, *flow, std::string(100'000, 'y')));
  CHECK(shared.members[0]->tcp.all_counters().ports_tried == 7);
  CHECK(flow->key().ports.local != first);
  CHECK(kPorts.owner(flow->key().ports.local) == 0);
  CHECK(shared.until([&] { return shared.members[1]->engine.flows() == 1; }));  // those of the tries are gone
  CHECK_FALSE(client.failed);
}

TEST_CASE("a connection whose packets come in by the right queues keeps its first port") {
  Shared shared(/*hashed=*/true);
  Collector client;
  TcpFlow* flow = shared.connect(1, 1, client);
  REQUIRE(flow != nullptr);
  REQUIRE(shared.carries(1, 1, *flow, std::string(100'000, 'z')));
  CHECK(shared.members[1]->tcp.all_counters().ports_tried == 0);
  CHECK(shared.members[1]->exchanged().own > 0);
  CHECK(shared.members[1]->exchanged().forwarded == 0);
}

TEST_CASE(
    "engines that are turned by threads of their own carry both ways at once, failing on purpose or not") {
  // Faults that end: those that came back every few milliseconds would meet each repetition of a thread that
  // gets a short slice of a busy processor every now and then, until its connection is given up.
  const std::string faults =
      GENERATE("", "shared:loss=1%@0s;shared:silent@5ms+5ms;shared:rate=2G@0s;shared:down@20ms+5ms");
  const auto rehearsal = faults.empty() ? nullptr
                                        : std::make_shared<engine::Rehearsal>(
                                              "shared", *config::parse_faults(faults), monotonic_now());
  Shared shared(/*hashed=*/false, rehearsal);
  std::array<Collector, 2> clients;
  const std::string text(2'000'000, 't');
  std::array<TcpFlow*, 2> flows{};
  for (std::uint16_t from = 0; from < 2; ++from) {
    flows[from] = shared.connect(from, static_cast<std::uint16_t>(1 - from), clients[from]);
    REQUIRE(flows[from] != nullptr);
    const std::lock_guard guard(shared.members[from]->engine.lock());
    REQUIRE(flows[from]->connection().send({.data = reinterpret_cast<const std::byte*>(text.data()),
                                            .size = static_cast<std::uint32_t>(text.size())}));
    shared.members[from]->tcp.wake(*flows[from]);
  }
  std::array<bool, 2> done{};
  std::array<std::thread, 2> threads;
  std::atomic<int> left{2};
  for (std::uint16_t self = 0; self < 2; ++self) {
    threads[self] = std::thread([&, self] {
      engine::Engine& engine = shared.members[self]->engine;
      turn_until([&] { return left.load() == 0; },
                 [&] {
                   engine.progress();
                   const std::lock_guard guard(engine.lock());
                   // A flow that has failed is gone.
                   if (!done[self] &&
                       (clients[self].failed || flows[self]->connection().stream_acked() == text.size())) {
                     done[self] = true;
                     --left;
                   }
                 });
    });
  }
  for (std::thread& thread : threads) {
    thread.join();
  }
  for (std::uint16_t self = 0; self < 2; ++self) {
    CHECK(done[self]);
    CHECK_FALSE(clients[self].failed);
    CHECK(shared.members[self]->hall.guest.received.size() == text.size());
    CHECK((shared.members[self]->hall.guest.received == text));  // without parts of it on the screen
    CHECK(shared.members[self]->exchanged().received > 0);
  }
  CHECK((rehearsal == nullptr || rehearsal->lost() > 0));
}

TEST_CASE("a segment for a port of no engine is answered by the engine that receives it") {
  Shared shared(/*hashed=*/false);
  Collector client;
  Member& member = *shared.members[0];
  {
    const std::lock_guard guard(member.engine.lock());
    REQUIRE(member.tcp.connect(*member.link, kAddress, 9, &client, 0) != nullptr);
  }
  CHECK(shared.until([&] { return client.failed; }));
  CHECK(client.error == ConnectionError::refused);
}

TEST_CASE("what does not fit into an engine's ring is lost and counted") {
  nic::need_eal();
  Exchange exchange(kPorts);
  Member member(0, nullptr, /*hashed=*/false);
  ExchangeCounters counters;
  constexpr std::uint64_t kSent = 1100;
  for (std::uint64_t i = 0; i < kSent; ++i) {
    rte_mbuf* packet = member.link->port().allocate_header();
    REQUIRE(packet != nullptr);
    auto* frame = reinterpret_cast<std::uint8_t*>(rte_pktmbuf_append(packet, 54));
    std::fill_n(frame, 54, std::uint8_t{0});
    frame[12] = 0x08;  // IPv4
    frame[14] = 0x45;
    frame[23] = 6;  // TCP
    frame[36] = kPorts.listening_of(1) >> 8;
    frame[37] = kPorts.listening_of(1) & 0xff;
    CHECK(exchange.sort({&packet, 1}, 0, member.link->port(), counters) == 0);
  }
  CHECK(counters.forwarded == 1024);
  CHECK(counters.dropped == kSent - 1024);
}

TEST_CASE("each engine gets a copy of the packets that all need, and the receiver keeps the frame") {
  nic::need_eal();
  Exchange exchange(PortMap(50000, 3000, 3, 0));
  Member member(0, nullptr, /*hashed=*/false);
  ExchangeCounters counters;
  rte_mbuf* packet = member.link->port().allocate_header();
  REQUIRE(packet != nullptr);
  auto* frame = reinterpret_cast<std::uint8_t*>(rte_pktmbuf_append(packet, 42));
  std::fill_n(frame, 42, std::uint8_t{0});
  frame[12] = 0x08;  // ARP
  frame[13] = 0x06;
  CHECK(exchange.sort({&packet, 1}, 1, member.link->port(), counters) == 1);
  rte_pktmbuf_free(packet);
  std::array<rte_mbuf*, 4> got{};
  CHECK(exchange.take_news(got, 1, counters) == 0);
  for (const std::uint16_t other : {0, 2}) {
    REQUIRE(exchange.take_news(got, other, counters) == 1);
    CHECK(got[0]->pkt_len == 42);
    rte_pktmbuf_free(got[0]);
  }
  CHECK(counters.overheard == 2);
}

}  // namespace tfabric::link
