#include <rte_ethdev.h>

#include <algorithm>
#include <cstring>
#include <string>
#include <vector>

#include "tests/unit/link/loop.h"
#include "tests/unit/nic/ring_device.h"
#include "transport/tcp/link/link.h"
#include "transport/tcp/link/tcp.h"

namespace tfabric::link {
using namespace test;

TEST_CASE("a process connects to itself: bytes, then an orderly end, and no flow is left") {
  Loop loop;
  Collector client;
  TcpFlow* flow = loop.tcp.connect(*loop.link, kAddress, loop.tcp.port(), &client, 0);
  REQUIRE(flow != nullptr);
  std::string text(3'000'000, ' ');
  for (std::size_t i = 0; i < text.size(); ++i) {
    text[i] = static_cast<char>('a' + i * i % 23);
  }
  REQUIRE(flow->connection().send({.data = reinterpret_cast<const std::byte*>(text.data()),
                                   .size = static_cast<std::uint32_t>(text.size())}));
  loop.tcp.wake(*flow);
  REQUIRE(loop.until([&] { return flow->connection().stream_acked() == text.size(); }));
  CHECK(loop.hall.guest.received == text);
  loop.tcp.close(*flow);
  REQUIRE(loop.until([&] { return loop.hall.guest.finished; }));
  loop.tcp.close(*loop.hall.accepted);
  CHECK(loop.until([&] { return loop.engine.flows() == 0; }));
  CHECK_FALSE(client.failed);
  CHECK_FALSE(loop.hall.guest.failed);
}

TEST_CASE(
    "beside others, links are looked at now and then while there is no flow, and always while there is") {
  Loop loop;
  loop.tcp.stand_beside();
  const auto rests = [&] { return loop.tcp.rests(loop.engine.last_turn()) && !loop.tcp.has_output(); };
  for (int round = 0; round < 3; ++round) {
    REQUIRE(loop.until([&] { return rests(); }));
    Collector client;
    TcpFlow* flow = loop.tcp.connect(*loop.link, kAddress, loop.tcp.port(), &client, 0);
    REQUIRE(flow != nullptr);
    CHECK_FALSE(rests());
    REQUIRE(loop.until([&] { return loop.hall.accepted != nullptr; }));
    CHECK_FALSE(rests());
    loop.tcp.abort(*flow);
    REQUIRE(loop.until([&] { return loop.hall.guest.failed && loop.engine.flows() == 0; }));
    loop.hall.accepted = nullptr;
    loop.hall.guest.failed = false;
  }
}

TEST_CASE("bytes that a handler does not take stay, and are shown again on resume") {
  Loop loop;
  loop.hall.guest.appetite = 10;
  Collector client;
  TcpFlow* flow = loop.tcp.connect(*loop.link, kAddress, loop.tcp.port(), &client, 0);
  REQUIRE(flow != nullptr);
  const std::string text(5000, 'q');
  REQUIRE(flow->connection().send({.data = reinterpret_cast<const std::byte*>(text.data()), .size = 5000}));
  loop.tcp.wake(*flow);
  REQUIRE(loop.until([&] { return flow->connection().stream_acked() == 5000; }));
  CHECK(loop.hall.guest.received.size() == 10);
  loop.hall.guest.appetite = 4990;
  loop.tcp.resume(*loop.hall.accepted);
  CHECK(loop.hall.guest.received == text);
  loop.tcp.abort(*flow);
  REQUIRE(loop.until([&] { return loop.hall.guest.failed; }));
  CHECK(loop.hall.guest.error == ConnectionError::reset);
  CHECK(loop.until([&] { return loop.engine.flows() == 0; }));
}

TEST_CASE("a port without a listener, and an acceptor that refuses, answer with a reset") {
  Loop loop;
  Collector to_nobody, to_refuser;
  loop.hall.refuse = true;
  const auto closed_port = static_cast<std::uint16_t>(loop.tcp.port() == 7 ? 9 : 7);
  REQUIRE(loop.tcp.connect(*loop.link, kAddress, closed_port, &to_nobody, 0) != nullptr);
  REQUIRE(loop.tcp.connect(*loop.link, kAddress, loop.tcp.port(), &to_refuser, 1) != nullptr);
  REQUIRE(loop.until([&] { return to_nobody.failed && to_refuser.failed; }));
  CHECK(to_nobody.error == ConnectionError::refused);
  CHECK(loop.until([&] { return loop.engine.flows() == 0; }));
}

TEST_CASE("bytes that a handler has not taken are there when the flow fails, each once") {
  Loop loop;
  loop.hall.guest.appetite = 1000;
  Collector client;
  TcpFlow* flow = loop.tcp.connect(*loop.link, kAddress, loop.tcp.port(), &client, 0);
  REQUIRE(flow != nullptr);
  std::string text(5000, ' ');
  for (std::size_t i = 0; i < text.size(); ++i) {
    text[i] = static_cast<char>('a' + i * i % 23);
  }
  REQUIRE(flow->connection().send({.data = reinterpret_cast<const std::byte*>(text.data()), .size = 5000}));
  loop.tcp.wake(*flow);
  REQUIRE(loop.until([&] { return flow->connection().stream_acked() == 5000; }));
  REQUIRE(loop.hall.guest.received.size() == 1000);
  SECTION("the peer resets it") {
    loop.tcp.abort(*flow);
    REQUIRE(loop.until([&] { return loop.hall.guest.failed; }));
  }
  SECTION("its link is taken away") { loop.tcp.remove_link(*loop.link); }
  SECTION("and the handler takes more before it knows") {
    loop.hall.accepted->connection().fail(ConnectionError::unreachable);
    loop.hall.guest.appetite = 1000;
    loop.tcp.resume(*loop.hall.accepted);
    CHECK(loop.hall.guest.received == text.substr(0, 2000));
    REQUIRE(loop.until([&] { return loop.hall.guest.failed; }));
  }
  REQUIRE(loop.hall.guest.failed);
  CHECK(loop.hall.guest.received + loop.hall.guest.rest == text);
}

TEST_CASE("a link that is taken away fails its flows") {
  Loop loop;
  Collector client;
  REQUIRE(loop.tcp.connect(*loop.link, kAddress, loop.tcp.port(), &client, 0) != nullptr);
  REQUIRE(loop.until([&] { return loop.hall.accepted != nullptr; }));
  const std::unique_ptr<Link> removed = loop.tcp.remove_link(*loop.link);
  CHECK(client.failed);
  CHECK(client.error == ConnectionError::unreachable);
  CHECK(loop.hall.guest.failed);
  CHECK(loop.engine.flows() == 0);
}

namespace {

// An engine whose one link leads back to itself, over a device whose link can be taken away.
struct Cable {
  explicit Cable(bool ends_with_link) {
    nic::need_eal();
    auto port =
        nic::Port::open({.name = "eth1", .device = nic::ring_device(), .mtu = 1500, .rx_buffers = 2048});
    INFO((port ? std::string() : port.error().message));
    REQUIRE(port.ok());
    auto made = std::make_unique<Link>(std::move(*port),
                                       net::InterfaceConfig{.name = "eth1",
                                                            .mtu = 1500,
                                                            .addresses = {{kAddress, 24}},
                                                            .point_to_point = true,
                                                            .trusted_wire = true},
                                       LinkOptions{.ends_with_link = ends_with_link});
    link = made.get();
    engine.lock().lock();
    engine.set_acceptor(&hall);
    tcp.add_link(std::move(made));
    flow = tcp.connect(*link, kAddress, tcp.port(), &client, 0);
    REQUIRE(flow != nullptr);
    REQUIRE(until([&] { return flow->connection().established() && hall.accepted != nullptr; }));
    link->watch(monotonic_now());
  }
  ~Cable() { engine.lock().unlock(); }
  Cable(const Cable&) = delete;
  Cable& operator=(const Cable&) = delete;

  template <class Done>
  bool until(const Done& done) {
    return turn_until(done, [this] { engine.turn(); });
  }
  void take_away() {
    REQUIRE(rte_eth_dev_set_link_down(link->port().id()) == 0);
    REQUIRE(until([&] { return client.failed || link->is_away(); }));
  }

  engine::Engine engine{engine::EngineOptions{}};
  Tcp& tcp = add_tcp(engine, {});
  Hall hall;
  Collector client;
  Link* link = nullptr;
  TcpFlow* flow = nullptr;
};

}  // namespace

TEST_CASE("a link that is away is loss: connections stay, and go on when it is back") {
  Cable cable(/*ends_with_link=*/false);
  CHECK(cable.link->why_away(monotonic_now()).empty());
  cable.take_away();
  REQUIRE_FALSE(cable.client.failed);
  CHECK_THAT(cable.link->why_away(monotonic_now()), Catch::Contains("rail eth1: no link since "));
  REQUIRE(rte_eth_dev_set_link_up(cable.link->port().id()) == 0);
  const std::string text(100'000, 'l');
  REQUIRE(cable.flow->connection().send(
      {.data = reinterpret_cast<const std::byte*>(text.data()), .size = 100'000}));
  cable.tcp.wake(*cable.flow);
  REQUIRE(cable.until([&] { return cable.client.failed || cable.hall.guest.received == text; }));
  CHECK_FALSE(cable.client.failed);
  CHECK(cable.until([&] { return !cable.link->is_away(); }));
}

TEST_CASE("a link that is back is announced: the switch behind it may be another one") {
  using namespace std::chrono_literals;
  nic::need_eal();
  auto port = nic::Port::open({.name = "eth1", .device = nic::ring_device(), .mtu = 1500, .rx_buffers = 512});
  REQUIRE(port.ok());
  Link link(std::move(*port),
            {.name = "eth1", .mtu = 1500, .addresses = {{kAddress, 24}, {*net::parse_ip("fd77::7"), 64}}},
            {});
  const auto frames = [&] {
    std::size_t count = 0;
    while (link.interface().next_frame()) {
      ++count;
    }
    return count;
  };
  Instant now{1h};
  link.watch(now);
  REQUIRE(frames() == 0);
  REQUIRE(rte_eth_dev_set_link_down(link.port().id()) == 0);
  link.watch(now += 1ms);
  REQUIRE(link.is_away());
  REQUIRE(frames() == 0);
  REQUIRE(rte_eth_dev_set_link_up(link.port().id()) == 0);
  link.watch(now += 10ms);
  CHECK_FALSE(link.is_away());
  CHECK(frames() >= 3);  // by ARP, by a neighbour advertisement, and its multicast groups to an MLD router
}

TEST_CASE("a wire to one process ends with its link, and its connections with it") {
  Cable cable(/*ends_with_link=*/true);
  cable.take_away();
  REQUIRE(cable.until([&] { return cable.client.failed && cable.hall.guest.failed; }));
  CHECK(cable.client.error == ConnectionError::unreachable);
  CHECK(cable.link->why_away(monotonic_now()) == "the process at the other end of the wire has ended");
}

namespace {

const net::IpAddress kLate = *net::parse_ip("10.77.0.8"), kNobody = *net::parse_ip("10.77.0.9");

// Knows the neighbour kLate once it has arrived, and answers each time that it is asked for.
struct Neighbours final : net::NeighbourSource {
  void ask(const net::IpAddress& address) override { asked = asked || address == kLate; }
  std::optional<net::Neighbour> next() override {
    return answers && std::exchange(asked, false)
               ? std::optional(net::Neighbour{.address = kLate, .mac = {{2, 0, 0, 0, 0, 8}}})
               : std::nullopt;
  }
  bool asked = false;
  bool answers = false;
};

}  // namespace

TEST_CASE("a neighbour that is silent for seconds is waited for, and is the reason of a time-out",
          "[timed]") {
  using namespace std::chrono_literals;
  Options options;
  options.tcp.connect_timeout = 8s;
  Loop loop(options);
  auto port =
      nic::Port::open({.name = "cable", .device = nic::ring_device(), .mtu = 1500, .rx_buffers = 2048});
  REQUIRE(port.ok());
  const auto neighbours = std::make_shared<Neighbours>();
  auto cable = std::make_unique<Link>(std::move(*port),
                                      net::InterfaceConfig{.name = "cable",
                                                           .mac = {{2, 0, 0, 0, 0, 1}},
                                                           .mtu = 1500,
                                                           .addresses = {{kAddress, 24}},
                                                           .neighbours = neighbours},
                                      LinkOptions{});
  Link& link = *cable;
  loop.tcp.add_link(std::move(cable));

  Collector to_late, to_never;
  const Instant begun = monotonic_now();
  TcpFlow* late = loop.tcp.connect(link, kLate, 7, &to_late, 0);
  REQUIRE(late != nullptr);
  TcpFlow* never = loop.tcp.connect(link, kNobody, 7, &to_never, 0);
  REQUIRE(never != nullptr);
  // After three seconds, or some more on a busy host.
  REQUIRE(loop.until([&] { return loop.tcp.is_silent(*late) && loop.tcp.is_silent(*never); }));
  REQUIRE_FALSE(to_late.failed);
  REQUIRE_FALSE(to_never.failed);
  CHECK(link.counters().tx_packets == 0);

  neighbours->answers = true;
  REQUIRE(loop.until([&] { return to_late.failed || link.counters().tx_packets > 0; }));
  REQUIRE_FALSE(to_late.failed);
  REQUIRE(loop.until([&] { return to_late.failed && to_never.failed; }));
  CHECK(monotonic_now() - begun >= 8s);
  CHECK(to_late.error == ConnectionError::timed_out);
  CHECK(to_never.error == ConnectionError::unreachable);
  CHECK(loop.until([&] { return loop.engine.flows() == 0; }));
}

TEST_CASE("beyond a number of open handshakes, SYNs are answered by cookies, and these connections work") {
  Options options{.max_half_open = 4};
  // A slow machine must not send a SYN twice: it would be answered by another cookie.
  options.tcp.min_rto = options.tcp.initial_rto = options.tcp.max_rto = std::chrono::seconds(60);
  Loop loop(options);
  std::vector<Collector> clients(12);
  std::vector<TcpFlow*> flows;
  // The SYNs arrive in one burst, before any handshake can end.
  for (Collector& client : clients) {
    flows.push_back(loop.tcp.connect(*loop.link, kAddress, loop.tcp.port(), &client, 0));
    REQUIRE(flows.back() != nullptr);
  }
  REQUIRE(loop.until([&] {
    return std::all_of(flows.begin(), flows.end(),
                       [](const TcpFlow* flow) { return flow->connection().established(); });
  }));
  REQUIRE(loop.until([&] { return loop.tcp.all_counters().cookies_taken == 8; }));
  CHECK(loop.tcp.all_counters().cookies_sent == 8);
  CHECK(loop.tcp.all_counters().cookies_refused == 0);
  const std::string text(200'000, 'k');
  for (TcpFlow* flow : flows) {
    REQUIRE(
        flow->connection().send({.data = reinterpret_cast<const std::byte*>(text.data()), .size = 200'000}));
    loop.tcp.wake(*flow);
  }
  REQUIRE(loop.until([&] { return loop.hall.guest.received.size() == flows.size() * text.size(); }));
  CHECK(loop.hall.guest.received.find_first_not_of('k') == std::string::npos);
  for (const TcpFlow* flow : flows) {
    CHECK(flow->connection().info().mss == loop.link->mss(true) - 12u);  // timestamps
  }
}

namespace {

// A connection that has sent so many bytes, of which the first segment was lost.
struct FirstLost {
  explicit FirstLost(std::uint32_t size) : text(size, 't') {
    flow = loop.tcp.connect(*loop.link, kAddress, loop.tcp.port(), &client, 0);
    REQUIRE(flow != nullptr);
    REQUIRE(loop.until([&] { return flow->connection().established() && loop.hall.accepted != nullptr; }));
    REQUIRE(flow->connection().send({.data = reinterpret_cast<const std::byte*>(text.data()), .size = size}));
    REQUIRE(flow->connection().next_segment(lost, loop.engine.now()));
  }
  Loop loop;
  Collector client;
  TcpFlow* flow = nullptr;
  std::string text;
  stack::SegmentOut lost;
};

}  // namespace

TEST_CASE("a peer learns why a connection was aborted, although the last segment before it was lost") {
  FirstLost sent(1000);
  sent.flow->abort("out of paper");
  REQUIRE(sent.loop.until([&] { return sent.loop.hall.guest.failed; }));
  CHECK(sent.loop.hall.guest.error == ConnectionError::reset);
  CHECK(sent.loop.hall.guest.reason == "out of paper");
  CHECK(sent.loop.link->counters().tx_payload == 0);  // the reason is none
}

TEST_CASE("a link counts the payload that is sent, and what of it is sent again") {
  FirstLost sent(3000);
  sent.loop.tcp.wake(*sent.flow);
  REQUIRE(sent.loop.until([&] { return sent.loop.hall.guest.received == sent.text; }));
  const engine::CarrierCounters& counters = sent.loop.link->counters();
  CHECK(counters.tx_repeated >= sent.lost.payload_size);
  CHECK(counters.tx_payload - counters.tx_repeated == sent.text.size() - sent.lost.payload_size);
}

namespace {

// A link that sends payload by reference, to a ring that keeps what it gets.
struct Keeping {
  Keeping() {
    nic::need_eal();
    auto port =
        nic::Port::open({.name = "keeping", .device = nic::ring_device(), .mtu = 9000, .rx_buffers = 2048});
    INFO((port ? std::string() : port.error().message));
    REQUIRE(port.ok());
    link = std::make_unique<Link>(
        std::move(*port),
        net::InterfaceConfig{
            .name = "keeping", .mtu = 9000, .addresses = {{kAddress, 24}}, .point_to_point = true},
        LinkOptions{.transmit_by_reference = true});
    REQUIRE(link->interface().prepare(kAddress, kAddress, header, monotonic_now()) ==
            net::Interface::Route::ready);
    segment.payload_size = kSize;
    segment.piece_count = 1;
    segment.pieces[0] = {.data = payload.data(), .size = kSize};
  }
  static constexpr std::uint32_t kSize = 4000;  // a small packet is copied whole
  std::vector<std::byte> payload = std::vector<std::byte>(kSize);
  std::unique_ptr<Link> link;
  net::LinkHeader header;
  stack::SegmentOut segment;
};

}  // namespace

TEST_CASE("a retransmission does not refer to the sender's memory, which may be freed meanwhile") {
  Keeping keeping;
  keeping.segment.retransmission = true;
  REQUIRE(keeping.link->send(keeping.header, keeping.segment));
  CHECK_FALSE(keeping.link->holds_payload());
  keeping.segment.retransmission = false;
  REQUIRE(keeping.link->send(keeping.header, keeping.segment));
  CHECK(keeping.link->holds_payload());
}

TEST_CASE("a driver that takes nothing for a second is known as stalled, until it takes something") {
  Keeping keeping;
  const Instant start{};
  const auto second = std::chrono::seconds(1);
  CHECK_FALSE(keeping.link->stalled(start));
  CHECK_FALSE(keeping.link->stalled(start + 10 * second));  // nothing to take
  while (keeping.link->make_room()) {
    REQUIRE(keeping.link->send(keeping.header, keeping.segment));
  }
  const Instant full = start + 20 * second;
  CHECK_FALSE(keeping.link->stalled(full));
  CHECK_FALSE(keeping.link->stalled(full + second / 2));
  CHECK(keeping.link->stalled(full + second));
  std::array<rte_mbuf*, 32> taken{};
  ExchangeCounters counters;
  for (std::uint16_t n = keeping.link->receive(taken, counters); n > 0;
       n = keeping.link->receive(taken, counters)) {
    rte_pktmbuf_free_bulk(taken.data(), n);
  }
  keeping.link->flush();
  CHECK(keeping.link->idle());
  CHECK_FALSE(keeping.link->stalled(full + 2 * second));
}

TEST_CASE("to a driver that reads by DMA only what is mapped for it goes by reference, the rest is copied") {
  Keeping keeping;
  rte_mbuf_ext_shared_info references{};
  references.free_cb = [](void*, void*) {};
  rte_mbuf_ext_refcnt_set(&references, 1);
  const auto buffers = [&](void* owner_of_first, void* owner_of_second) {
    keeping.segment.piece_count = 2;
    keeping.segment.payload_size = 1000;
    keeping.segment.pieces[0] = {.data = keeping.payload.data(), .size = 500, .owner = owner_of_first};
    keeping.segment.pieces[1] = {.data = keeping.payload.data() + 500, .size = 500, .owner = owner_of_second};
    rte_mbuf* packet =
        build_packet(keeping.link->port(), keeping.header, keeping.segment, 1,
                     {.checksum = net::TcpChecksum::none, .references = &references, .mapped_only = true});
    REQUIRE(packet != nullptr);
    CHECK(packet->pkt_len == 14 + 20 + 20 + 1000);
    const int count = packet->nb_segs;
    rte_pktmbuf_free(packet);
    return count;
  };
  int mapped = 0;
  CHECK(buffers(&mapped, &mapped) == 3);
  CHECK(buffers(&mapped, nullptr) == 1);
  CHECK(buffers(nullptr, nullptr) == 1);
  CHECK(rte_mbuf_ext_refcnt_read(&references) == 1);
}

TEST_CASE("waiting for payload ends at once where nothing refers to it") {
  Loop loop;
  loop.engine.drain_payload();
  CHECK_FALSE(loop.link->holds_payload());
}

}  // namespace tfabric::link
