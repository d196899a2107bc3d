#include "tests/unit/comm/unix_carrier.h"

#include <catch2/catch.hpp>
#include <chrono>

#include "base/random.h"
#include "tests/temporary_folder.h"
#include "transport/comm/listener.h"
#include "transport/comm/send_comm.h"

using namespace tfabric;
using namespace tfabric::comm;
using namespace tfabric::flows;
using namespace tfabric::session;
using namespace tfabric::comm::test;

namespace {

struct Process {
  Process(const std::string& folder, std::uint16_t port) {
    const engine::Guard guard(engine.lock());
    auto made = std::make_unique<UnixCarrier>(engine, folder, port);
    carrier = made.get();
    engine.add(std::move(made));
    engine.set_acceptor(&acceptor);
  }
  ~Process() {
    const engine::Guard guard(engine.lock());
    acceptor.clear();
    engine.halt();
  }
  void turn() {
    const engine::Guard guard(engine.lock());
    engine.turn();
  }

  engine::Engine engine{engine::EngineOptions{}};
  engine::Progress progress{engine, engine::ProgressMode::by_owner, -1, {&engine}};
  hugepage::RegionTable regions;
  Peers peers;
  Acceptor acceptor{peers.comms};
  Context context{engine, progress, regions, CommOptions{}, peers};
  Pending pending{context};
  UnixCarrier* carrier = nullptr;
};

}  // namespace

TEST_CASE("comms know nothing of Unix sockets, and survive that these are cut") {
  const tfabric::test::TemporaryFolder folder;
  Process a(folder.path(), 1), b(folder.path(), 2);
  const auto until = [&](const auto& done) {
    const Instant limit = monotonic_now() + std::chrono::seconds(60);
    while (!done() && monotonic_now() < limit) {
      a.turn();
      b.turn();
    }
    return done();
  };
  Token token{};
  fill_random(token);
  b.acceptor.add_listener(token, b.pending);
  std::vector<SendRoute> routes;
  routes.push_back({.carrier = a.carrier->number(),
                    .port = 2,
                    .path = std::make_shared<Path>(FlowChoice{}, "test"),
                    .joined = {}});
  auto send =
      std::make_unique<SendComm>(a.context, Hello{.token = token, .comm = 7, .serial = {}, .witness = {}},
                                 std::uint8_t{1}, std::move(routes));
  {
    const engine::Guard guard(a.engine.lock());
    REQUIRE_FALSE(send->open_lanes());
  }
  REQUIRE(until([&] { return send->welcomed() && b.pending.has_ready(); }));
  auto receive = b.pending.take();

  for (const std::size_t size : {0u, 1u, 4096u, 1'000'000u, 30'000'000u}) {
    std::vector<std::byte> sent(size), received(size + 1);
    for (std::size_t i = 0; i < size; ++i) {
      sent[i] = static_cast<std::byte>(i * 31 + size);
    }
    const transport::ReceiveBuffer buffer{received.data(), received.size(), 0, nullptr};
    const auto in = receive->irecv(std::span(&buffer, 1));
    const auto out = send->isend(sent.data(), sent.size(), 0, nullptr);
    REQUIRE((in.ok() && out.ok()));
    for (int turns = 0; turns < 5; ++turns) {
      a.turn();
      b.turn();
    }
    if (size == 30'000'000) {  // part of it is on its way
      const engine::Guard guard(a.engine.lock());
      a.carrier->cut();
    }
    int arrived = -1;
    REQUIRE(until([&] { return *(*in)->test(&arrived); }));
    REQUIRE(until([&] { return *(*out)->test(nullptr); }));
    CHECK(static_cast<std::size_t>(arrived) == size);
    received.resize(size);
    CHECK((received == sent));
  }
  CHECK(send->counters().buried == 1);
  CHECK(send->dealt_again() > 0);
}
