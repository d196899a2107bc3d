// A send comm and its receive comm in one process, over links that lead back to it, and messages between them
// whose bytes are all checked.
#pragma once

#include <array>
#include <catch2/catch.hpp>
#include <deque>
#include <memory>
#include <string>
#include <vector>

#include "base/random.h"
#include "tests/unit/nic/eal_fixture.h"
#include "tests/unit/tcp/cut_wire.h"
#include "transport/comm/listener.h"
#include "transport/comm/send_comm.h"
#include "transport/rails/rail.h"
#include "transport/session/acceptor.h"
#include "transport/tcp/link/tcp.h"

namespace tfabric::comm::test {

inline const std::array kAddresses{*net::parse_ip("10.77.0.1"), *net::parse_ip("10.77.1.1")};

// An engine with two links.
struct World {
  // `first_device`: of nic::PortConfig, for the first link; empty: it has a wire, like the second.
  explicit World(const CommOptions& options = {}, const link::Options& tcp_options = {},
                 const link::LinkOptions& link_options = {},
                 std::shared_ptr<engine::Rehearsal> of_second_link = nullptr,
                 const std::string& first_device = {}, const engine::EngineOptions& engine_options = {})
      : engine(engine_options),
        tcp(link::add_tcp(engine, tcp_options)),
        context{engine, progress, regions, options, peers} {
    nic::need_eal();
    const engine::Guard guard(engine.lock());
    fill_random(token);
    acceptor.add_listener(token, pending);
    engine.set_acceptor(&acceptor);
    for (std::size_t i = 0; i < kAddresses.size(); ++i) {
      wires.push_back(std::make_shared<CutWire>());
      link::LinkOptions own = link_options;
      own.rehearsal = i == 1 ? of_second_link : nullptr;
      add_link(i, own, i == 0 ? first_device : std::string());
    }
  }
  void add_link(std::size_t i, const link::LinkOptions& options, const std::string& device) {
    const std::string name = "pair" + std::to_string(i);
    nic::PortConfig config{.name = name, .device = device};
    if (device.empty()) {
      config.pipes = {wires[i]};
    }
    auto port = nic::Port::open(config);
    INFO((port ? std::string() : port.error().message));
    REQUIRE(port.ok());
    auto link = std::make_unique<link::Link>(std::move(*port),
                                             net::InterfaceConfig{.name = name,
                                                                  .mtu = 1500,
                                                                  .addresses = {{kAddresses[i], 24}},
                                                                  .point_to_point = true,
                                                                  .trusted_wire = true},
                                             options);
    links.push_back(link.get());
    tcp.add_link(std::move(link));
  }
  ~World() {
    const engine::Guard guard(engine.lock());
    acceptor.clear();
    engine.set_acceptor(nullptr);
  }
  World(const World&) = delete;
  World& operator=(const World&) = delete;

  // Cuts a link's wire, or makes it whole.
  void cut(std::size_t wire, CutWire::State state) {
    const engine::Guard guard(engine.lock());
    wires.at(wire)->set(state);
  }

  // Turns until `done`, for longer than any correct run takes; what ends in TIME-WAIT takes real time.
  template <class Done>
  bool until(const Done& done) {
    const Instant deadline = monotonic_now() + std::chrono::seconds(120);
    while (!done()) {
      if (monotonic_now() > deadline) {
        return false;
      }
      const engine::Guard guard(engine.lock());
      engine.turn();
    }
    return true;
  }

  engine::Engine engine;
  link::Tcp& tcp;
  engine::Progress progress{engine, engine::ProgressMode::inline_, -1, {&engine}};
  hugepage::RegionTable regions;
  Peers peers;
  session::Acceptor acceptor{peers.comms};
  Context context;
  Pending pending{context};
  session::Token token{};
  std::vector<std::shared_ptr<CutWire>> wires;
  std::vector<link::Link*> links;
};

// The classes of the routes over the two links.
using Ranks = std::array<session::RouteClass, 2>;
inline constexpr Ranks kBothOwn{session::RouteClass::own, session::RouteClass::own};

// Returns a send comm over both links that has one lane on each of the lowest class to begin with. `path`
// says how many are used; null: the test does. `spare`: the second one may lead nowhere.
inline std::unique_ptr<SendComm> open_send(World& world, const session::Hello& hello, std::uint8_t max_recvs,
                                           const Ranks& ranks = kBothOwn,
                                           std::shared_ptr<flows::Path> path = nullptr, bool spare = false) {
  const engine::Guard guard(world.engine.lock());
  const bool chosen_by_test = path == nullptr;
  std::vector<SendRoute> routes;
  for (std::size_t i = 0; i < kAddresses.size(); ++i) {
    routes.push_back({.rank = ranks[i],
                      .carrier = world.links[i]->number(),
                      .rail_number = static_cast<std::uint16_t>(i),
                      .remote = kAddresses[i],
                      .port = world.tcp.port(),
                      .path = chosen_by_test ? world.peers.paths.path(world.links[i]->name(), kAddresses[i],
                                                                      flows::FlowChoice{})
                                             : path,
                      .joined = {},
                      .awake = chosen_by_test,  // seems to be: the path is not woken, and asks for nothing
                      .spare = spare && i == 1});
  }
  auto send = std::make_unique<SendComm>(world.context, hello, max_recvs, std::move(routes));
  REQUIRE_FALSE(send->open_lanes());
  return send;
}

// Comms over both links, with one flow on each to begin with.
class Pair {
 public:
  // `witness`: the process in which the receive comm believes the send comm to be.
  explicit Pair(World& world, const witness::Contact& witness = {}, const Ranks& ranks = kBothOwn)
      : world_(world) {
    hello = {.token = world.token, .comm = 0, .serial = {}, .witness = witness};
    const std::uint64_t further = ranks[0] == ranks[1] ? 1 : 0;
    do {  // again, if the host stood still for longer than connections of the test's have
      {
        const engine::Guard guard(world.engine.lock());
        while (world.pending.has_ready()) {
          world.pending.take().reset();
        }
      }
      hello.comm = random_u64();
      send = open_send(world, hello, world.context.options.max_recvs, ranks);
      REQUIRE(world.until([&] {
        return send->failed() ||
               (send->welcomed() && send->counters().joined >= further && world.pending.has_ready());
      }));
    } while (send->failed());
    const engine::Guard guard(world.engine.lock());
    receive = world.pending.take();
  }

  // What Path would say.
  void use_flows(stripe::RouteId route, std::uint32_t flows, std::uint32_t keep) {
    const engine::Guard guard(world_.engine.lock());
    use_flows_locked(route, flows, keep);
  }
  void use_flows_locked(stripe::RouteId route, std::uint32_t flows, std::uint32_t keep) {
    static_cast<flows::PathUser&>(*send).use_flows(route, flows, keep, monotonic_now());
  }

  struct Message {
    std::vector<std::byte> sent, received;
    transport::Request *out = nullptr, *in = nullptr;
    int tag = 0;
  };
  Message& message(std::size_t size, int tag = 0) {
    Message& made = messages_.emplace_back();
    made.sent.resize(size);
    made.received.resize(size + 1);
    made.tag = tag;
    for (std::size_t i = 0; i < size; ++i) {
      made.sent[i] = static_cast<std::byte>(i * 31 + messages_.size() + (i >> 8));
    }
    return made;
  }
  void post_send(Message& message) {
    REQUIRE(world_.until([&] {
      auto request = send->isend(message.sent.data(), message.sent.size(), message.tag, nullptr);
      REQUIRE(request.ok());
      message.out = *request;
      return message.out != nullptr;
    }));
  }
  void post_receive(Message& message) {
    const transport::ReceiveBuffer buffer{message.received.data(), message.received.size(), message.tag,
                                          nullptr};
    auto request = receive->irecv(std::span(&buffer, 1));
    REQUIRE((request.ok() && *request != nullptr));
    message.in = *request;
  }
  // Returns a message, part of which is on its way.
  Message& begin(std::size_t size) {
    Message& begun = message(size);
    post_receive(begun);
    post_send(begun);
    for (int turn = 0; turn < 5; ++turn) {
      const engine::Guard guard(world_.engine.lock());
      world_.engine.turn();
    }
    return begun;
  }
  // Both requests end well, and every byte is right.
  void finish(Message& message) {
    int size = -1;
    REQUIRE(world_.until([&] { return done(message.in, &size); }));
    REQUIRE(static_cast<std::size_t>(size) == message.sent.size());
    finish_send(message);
  }
  // The same when its receive, in a group, has ended already.
  void finish_send(Message& message) {
    REQUIRE(world_.until([&] { return done(message.out, nullptr); }));
    message.received.resize(message.sent.size());
    REQUIRE((message.received == message.sent));
  }
  // One message there, whole.
  void exchange(std::size_t size) {
    Message& one = message(size);
    post_receive(one);
    post_send(one);
    finish(one);
  }

  session::Hello hello;
  std::unique_ptr<SendComm> send;
  std::unique_ptr<RecvComm> receive;

 private:
  // Returns true if the request has ended, well, and the message's bytes are right if it was the receive.
  static bool done(transport::Request*& request, int* size) {
    if (request == nullptr) {
      return true;
    }
    const Result<bool> result = request->test(size);
    INFO((result ? std::string() : result.error().message));
    REQUIRE(result.ok());
    request = *result ? nullptr : request;
    return request == nullptr;
  }

  World& world_;
  std::deque<Message> messages_;
};

}  // namespace tfabric::comm::test
