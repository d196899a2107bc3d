#include "transport/tcp/engine/engine.h"

#include <cstring>
#include <string>
#include <vector>

#include "tests/unit/port/eal_fixture.h"
#include "transport/tcp/rail.h"

namespace tfabric::engine {
namespace {

using stack::ConnectionError;

const net::IpAddress kAddress = *net::parse_ip("10.77.0.1");

// Collects what a flow brings, and takes at most `appetite` bytes.
struct Collector final : FlowHandler {
  std::size_t on_data(Flow&, std::span<const std::byte> bytes) override {
    const std::size_t n = std::min(bytes.size(), appetite);
    received.append(reinterpret_cast<const char*>(bytes.data()), n);
    appetite -= n;
    return n;
  }
  void on_progress(Flow& flow) override { finished = finished || flow.connection().peer_finished(); }
  void on_failed(Flow&, ConnectionError why) override {
    failed = true;
    error = why;
  }

  std::string received;
  std::size_t appetite = std::size_t{1} << 40;
  bool finished = false;
  bool failed = false;
  ConnectionError error = ConnectionError::none;
};

struct Hall final : Acceptor {
  bool on_connection(Flow& flow) override {
    if (refuse) {
      return false;
    }
    flow.set_handler(&guest, 0);
    accepted = &flow;
    return true;
  }
  Collector guest;
  Flow* accepted = nullptr;
  bool refuse = false;
};

// An engine whose one link leads back to itself.
struct Loop {
  explicit Loop(EngineOptions options = {}) : engine(options) {
    port::need_eal();
    engine.lock().lock();
    engine.set_acceptor(&hall);
    auto made = tcp::make_loop_link("test", {.name = "test", .mtu = 1500, .addresses = {{kAddress, 24}}});
    INFO((made ? std::string() : made.error().message));
    REQUIRE(made.ok());
    link = made->get();
    engine.add_link(std::move(*made));
  }
  ~Loop() { engine.lock().unlock(); }
  Loop(const Loop&) = delete;
  Loop& operator=(const Loop&) = delete;

  // Turns until `done`, for a number of turns that no correct run needs.
  template <class Done>
  bool until(const Done& done) {
    for (long i = 0; i < 20'000'000 && !done(); ++i) {
      engine.turn();
    }
    return done();
  }

  Engine engine;
  Hall hall;
  Link* link = nullptr;
};

}  // namespace

TEST_CASE("a process connects to itself: bytes, then an orderly end, and no flow is left") {
  Loop loop;
  Collector client;
  Flow* flow = loop.engine.connect(*loop.link, kAddress, loop.engine.port(), &client, 0);
  REQUIRE(flow != nullptr);
  std::string text(3'000'000, ' ');
  for (std::size_t i = 0; i < text.size(); ++i) {
    text[i] = static_cast<char>('a' + i * i % 23);
  }
  REQUIRE(flow->connection().send({.data = reinterpret_cast<const std::byte*>(text.data()),
                                   .size = static_cast<std::uint32_t>(text.size())}));
  loop.engine.wake(*flow);
  REQUIRE(loop.until([&] { return flow->connection().stream_acked() == text.size(); }));
  CHECK(loop.hall.guest.received == text);
  loop.engine.close(*flow);
  REQUIRE(loop.until([&] { return loop.hall.guest.finished; }));
  loop.engine.close(*loop.hall.accepted);
  CHECK(loop.until([&] { return loop.engine.flows() == 0; }));
  CHECK_FALSE(client.failed);
  CHECK_FALSE(loop.hall.guest.failed);
}

TEST_CASE("bytes that a handler does not take stay, and are shown again on resume") {
  Loop loop;
  loop.hall.guest.appetite = 10;
  Collector client;
  Flow* flow = loop.engine.connect(*loop.link, kAddress, loop.engine.port(), &client, 0);
  REQUIRE(flow != nullptr);
  const std::string text(5000, 'q');
  REQUIRE(flow->connection().send({.data = reinterpret_cast<const std::byte*>(text.data()), .size = 5000}));
  loop.engine.wake(*flow);
  REQUIRE(loop.until([&] { return flow->connection().stream_acked() == 5000; }));
  CHECK(loop.hall.guest.received.size() == 10);
  loop.hall.guest.appetite = 4990;
  loop.engine.resume(*loop.hall.accepted);
  CHECK(loop.hall.guest.received == text);
  loop.engine.abort(*flow);
  REQUIRE(loop.until([&] { return loop.hall.guest.failed; }));
  CHECK(loop.hall.guest.error == ConnectionError::reset);
  CHECK(loop.until([&] { return loop.engine.flows() == 0; }));
}

TEST_CASE("a port where nobody listens, and an acceptor that refuses, answer with a reset") {
  Loop loop;
  Collector to_nobody, to_refuser;
  loop.hall.refuse = true;
  const auto closed_port = static_cast<std::uint16_t>(loop.engine.port() == 7 ? 9 : 7);
  REQUIRE(loop.engine.connect(*loop.link, kAddress, closed_port, &to_nobody, 0) != nullptr);
  REQUIRE(loop.engine.connect(*loop.link, kAddress, loop.engine.port(), &to_refuser, 1) != nullptr);
  REQUIRE(loop.until([&] { return to_nobody.failed && to_refuser.failed; }));
  CHECK(to_nobody.error == ConnectionError::refused);
  CHECK(loop.until([&] { return loop.engine.flows() == 0; }));
}

TEST_CASE("a link that is taken away fails its flows") {
  Loop loop;
  Collector client;
  REQUIRE(loop.engine.connect(*loop.link, kAddress, loop.engine.port(), &client, 0) != nullptr);
  REQUIRE(loop.until([&] { return loop.hall.accepted != nullptr; }));
  const std::unique_ptr<Link> removed = loop.engine.remove_link(*loop.link);
  CHECK(client.failed);
  CHECK(client.error == ConnectionError::unreachable);
  CHECK(loop.hall.guest.failed);
  CHECK(loop.engine.flows() == 0);
}

TEST_CASE("handshakes of strangers are bounded in number") {
  Loop loop({.max_half_open = 4});
  std::vector<Collector> clients(12);
  // The SYNs arrive in one burst, before any handshake can end.
  for (Collector& client : clients) {
    REQUIRE(loop.engine.connect(*loop.link, kAddress, loop.engine.port(), &client, 0) != nullptr);
  }
  REQUIRE(loop.until([&] { return loop.engine.counters().half_open_refused > 0; }));
  CHECK(loop.engine.flows() <= clients.size() + 4);
}

TEST_CASE("waiting for payload ends at once where nothing refers to it") {
  Loop loop;
  loop.engine.drain_payload();
  CHECK_FALSE(loop.link->holds_payload());
}

}  // namespace tfabric::engine
