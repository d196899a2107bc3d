// Comms whose lanes are the kernel's sockets, and what becomes of them when connections are cut.
#include <netinet/in.h>
#include <sys/socket.h>

#include <catch2/catch.hpp>
#include <deque>
#include <filesystem>
#include <random>

#include "tests/unit/socket/relay.h"
#include "tests/unit/socket/socket_side.h"
#include "transport/comm/send_comm.h"

using namespace tfabric;
using namespace tfabric::socket;
using namespace tfabric::socket::test;
using Catch::Matchers::Contains;

namespace {

struct Message {
  std::vector<std::byte> sent, received;
  transport::Request *out = nullptr, *in = nullptr;
  bool is_sent = false, has_come = false;
};

// Resets the connections to this port, as seen by the end that dialled them. Returns how many there were.
int reset_connections_to(std::uint16_t port) {
  int count = 0;
  for (const auto& entry : std::filesystem::directory_iterator("/proc/self/fd")) {
    const int socket = std::stoi(entry.path().filename());
    sockaddr_in peer{};
    socklen_t length = sizeof peer;
    if (::getpeername(socket, reinterpret_cast<sockaddr*>(&peer), &length) == 0 &&
        peer.sin_family == AF_INET && ntohs(peer.sin_port) == port) {
      const sockaddr none{.sa_family = AF_UNSPEC, .sa_data = {}};
      count += ::connect(socket, &none, sizeof none) == 0 ? 1 : 0;
    }
  }
  return count;
}

enum class Way : std::uint8_t { relayed, direct };

struct Comms {
  explicit Comms(std::uint32_t lanes = 1, const comm::CommOptions& options = {}, bool witnessed = false,
                 Way way = Way::relayed)
      : a_witness(witnessed ? open_witness() : nullptr),
        b_witness(witnessed ? open_witness() : nullptr),
        a({}, options),
        b({}, options),
        relay(b.carrier->port()) {
    fill_random(token);
    {
      const engine::Guard guard(b.engine.lock());
      b.acceptor.add_listener(token, pending);
      if (witnessed) {
        b.peers.processes.use(*b_witness, b.engine);
        b.acceptor.set_witness(b_witness->contact());
      }
    }
    {
      const engine::Guard guard(a.engine.lock());
      if (witnessed) {
        a.peers.processes.use(*a_witness, a.engine);
      }
      const auto path =
          std::make_shared<flows::Path>(flows::FlowChoice{.flows = lanes, .most = lanes}, "test");
      std::vector<comm::SendRoute> routes(1);
      routes[0] = {.carrier = a.carrier->number(),
                   .remote = kLoopback,
                   .port = way == Way::relayed ? relay.port() : b.carrier->port(),
                   .path = path,
                   .wanted = lanes,
                   .joined = {}};
      send = std::make_unique<comm::SendComm>(
          a.context,
          session::Hello{.token = token, .comm = 7, .serial = {}, .witness = a.peers.processes.contact()},
          std::uint8_t{1}, std::move(routes));
      for (std::uint32_t i = 0; i < lanes; ++i) {
        REQUIRE(send->open_lane({0}));
      }
    }
    REQUIRE(until([&] { return send->welcomed() && pending.has_ready(); }));
    const engine::Guard guard(b.engine.lock());
    receive = pending.take();
  }
  template <class Done>
  bool until(const Done& done) {
    return test::until(a, b, done, [&] { relay.pump(); });
  }
  Message& message(std::size_t size) {
    Message& made = messages.emplace_back();
    made.sent.resize(size);
    made.received.resize(size + 1);
    for (std::size_t i = 0; i < size; ++i) {
      made.sent[i] = static_cast<std::byte>(i * 31 + messages.size() + (i >> 8));
    }
    return made;
  }
  void post(Message& message) {
    const transport::ReceiveBuffer buffer{message.received.data(), message.received.size(), 0, nullptr};
    auto in = receive->irecv(std::span(&buffer, 1));
    REQUIRE((in.ok() && *in != nullptr));
    message.in = *in;
    auto out = send->isend(message.sent.data(), message.sent.size(), 0, nullptr);
    REQUIRE((out.ok() && *out != nullptr));
    message.out = *out;
  }
  bool done(Message& message) {
    int size = -1;
    if (!message.has_come) {
      const auto result = message.in->test(&size);
      INFO((result ? std::string() : result.error().message));
      REQUIRE(result.ok());
      message.has_come = *result;
      REQUIRE((!*result || static_cast<std::size_t>(size) == message.sent.size()));
    }
    if (!message.is_sent) {
      const auto result = message.out->test(nullptr);
      INFO((result ? std::string() : result.error().message));
      REQUIRE(result.ok());
      message.is_sent = *result;
    }
    return message.is_sent && message.has_come;
  }
  void finish(Message& message) {
    REQUIRE(until([&] { return done(message); }));
    message.received.resize(message.sent.size());
    REQUIRE((message.received == message.sent));
  }

  static std::unique_ptr<witness::Witness> open_witness() {
    auto opened =
        witness::Witness::open({.address = config::mapped(std::array<std::uint8_t, 4>{127, 0, 0, 1}),
                                .self = witness::this_process(),
                                .patience = {}});
    REQUIRE(opened.ok());
    return std::move(*opened);
  }
  [[nodiscard]] bool witnessed() const {
    return session::PeerProcesses::view(*send) == witness::View::alive &&
           session::PeerProcesses::view(*receive) == witness::View::alive;
  }

  std::unique_ptr<witness::Witness> a_witness, b_witness;  // null: none
  Side a, b;
  Relay relay;
  comm::Pending pending{b.context};
  session::Token token{};
  std::unique_ptr<comm::SendComm> send;
  std::unique_ptr<comm::RecvComm> receive;
  std::deque<Message> messages;
};

}  // namespace

TEST_CASE("messages of all sizes arrive over the kernel's sockets") {
  Comms comms(GENERATE(1u, 3u), {}, /*witnessed=*/false, GENERATE(Way::relayed, Way::direct));
  for (const std::size_t size : {0u, 1u, 127u, 128u, 4096u, 16384u, 16385u, 1000000u, 9000000u}) {
    Message& message = comms.message(size);
    comms.post(message);
    comms.finish(message);
  }
  for (int i = 0; i < 30; ++i) {
    comms.post(comms.message(static_cast<std::size_t>(i) * 9973));
  }
  for (Message& message : comms.messages) {
    if (!message.has_come) {
      comms.finish(message);
    }
  }
}

TEST_CASE("a lane that has nothing to send is not busy, at either end") {
  Comms comms;
  Message& message = comms.message(1'000'000);
  comms.post(message);
  comms.finish(message);
  const auto stream = [](const Side& side) -> const engine::ByteStream& {
    return side.carrier->flow_at(0).stream();
  };
  REQUIRE(comms.until([&] { return !stream(comms.a).awaits_peer() && !stream(comms.b).awaits_peer(); }));
  const Duration sender = stream(comms.a).info().busy, receiver = stream(comms.b).info().busy;
  CHECK(sender > Duration::zero());
  const Instant end = comms.a.carrier->now() + std::chrono::milliseconds(20);
  REQUIRE(comms.until([&] { return comms.a.carrier->now() >= end; }));
  CHECK(stream(comms.a).info().busy == sender);
  CHECK(stream(comms.b).info().busy == receiver);
}

TEST_CASE("messages survive connections that are cut anywhere") {
  const auto seed = GENERATE(range(0u, 6u));
  INFO("seed " << seed);
  std::mt19937 random(seed);
  Comms comms(1 + seed % 3);
  for (int round = 0; round < 16; ++round) {
    comms.relay.cut_after(random() % (random() % 4 == 0 ? 300 : 1'500'000));
    const std::size_t cuts = comms.relay.cuts(), first = comms.messages.size();
    for (int i = 0; i < 4; ++i) {
      comms.post(comms.message(random() % (random() % 2 == 0 ? 20'000 : 700'000)));
    }
    const auto all_done = [&] {
      bool all = true;
      for (std::size_t i = first; i < comms.messages.size(); ++i) {
        all = comms.done(comms.messages[i]) && all;
      }
      return all;
    };
    REQUIRE(comms.until([&] { return comms.relay.cuts() > cuts || all_done(); }));
    comms.relay.cut_after(std::size_t{1} << 60);
    REQUIRE(comms.until(all_done));
    for (std::size_t i = first; i < comms.messages.size(); ++i) {
      comms.finish(comms.messages[i]);
    }
  }
  CHECK(comms.relay.cuts() > 3);
}

TEST_CASE("messages survive direct connections that are reset at any time") {
  const auto seed = GENERATE(range(0u, 6u));
  INFO("seed " << seed);
  std::mt19937 random(seed);
  Comms comms(1 + seed % 3, {}, /*witnessed=*/false, Way::direct);
  int cuts = 0;
  for (int round = 0; round < 30; ++round) {
    const std::size_t first = comms.messages.size();
    for (int i = 0; i < 4; ++i) {
      comms.post(comms.message(random() % (random() % 2 == 0 ? 20'000 : 2'000'000)));
    }
    for (auto turns = random() % 30; turns > 0; --turns) {
      comms.a.turn();
      if (random() % 2 == 0) {
        comms.b.turn();
      }
    }
    cuts += reset_connections_to(comms.b.carrier->port());
    for (std::size_t i = first; i < comms.messages.size(); ++i) {
      comms.finish(comms.messages[i]);
    }
  }
  CHECK(cuts > 10);
}

TEST_CASE("lanes that fall silent are replaced by new ones, however long the kernel would wait") {
  Comms comms(GENERATE(1u, 2u));
  comms.post(comms.message(1'000'000));
  comms.finish(comms.messages.back());
  comms.relay.hold();
  comms.post(comms.message(1'000'000));
  comms.finish(comms.messages.back());
  CHECK(comms.send->counters().buried >= 1);
  CHECK_FALSE(comms.receive->failed());
}

TEST_CASE("a route that takes connections and carries nothing renews no patience") {
  Comms comms(1, {.outage = std::chrono::milliseconds(1500)});
  comms.post(comms.message(1'000'000));
  comms.finish(comms.messages.back());
  comms.relay.cut_after(300);
  comms.post(comms.message(1'000'000));
  REQUIRE(comms.until([&] { return comms.send->failed() && comms.receive->failed(); }));
  CHECK(comms.send->counters().joined >= 1);
  CHECK_THAT(comms.send->error().message, Contains("no connection for"));
}

TEST_CASE("a comm that fails at one end fails at the other with its reason") {
  Comms comms;
  const std::string why = "a message of 8 bytes is larger than its receive";
  const bool sender = GENERATE(false, true);
  if (sender) {
    const engine::Guard guard(comms.a.engine.lock());
    comms.send->fail_from_outside({Errc::internal, why});
  } else {
    const engine::Guard guard(comms.b.engine.lock());
    comms.receive->fail_from_outside({Errc::internal, why});
  }
  comm::CommCore& other = sender ? static_cast<comm::CommCore&>(*comms.receive) : *comms.send;
  REQUIRE(comms.until([&] { return other.failed(); }));
  CHECK_THAT(other.error().message, Contains(why));
}

TEST_CASE("the end of the peer's process is noticed at once at both ends") {
  Comms comms;
  comms.relay.die();
  const Instant start = monotonic_now();
  REQUIRE(comms.until([&] { return comms.send->failed() && comms.receive->failed(); }));
  CHECK_THAT(comms.receive->error().message, Contains("has ended without closing its communicators"));
  CHECK_THAT(comms.send->error().message, Contains("has ended without closing its communicators"));
  CHECK(monotonic_now() - start < comm::CommOptions{}.outage / 2);
}

TEST_CASE(
    "connections that a firewall ends and refuses are no end of a process of which the witness knows "
    "better") {
  Comms comms(1, {.outage = std::chrono::seconds(2)}, /*witnessed=*/true);
  REQUIRE(comms.until([&] { return comms.witnessed(); }));
  comms.relay.die();
  REQUIRE(comms.until([&] { return comms.send->failed() && comms.receive->failed(); }));
  CHECK_THAT(comms.send->error().message, Contains("tcp.user_timeout_ms"));
  CHECK_THAT(comms.receive->error().message, Contains("tcp.user_timeout_ms"));
}

TEST_CASE(
    "a process whose kernel only acknowledges has not answered, and one that reports what it reads has") {
  Comms comms(1, {}, /*witnessed=*/true, GENERATE(Way::relayed, Way::direct));
  REQUIRE(comms.until([&] { return comms.witnessed(); }));
  const auto ask = [&] {
    const engine::Guard guard(comms.a.engine.lock());
    return static_cast<session::ProcessUser&>(*comms.send).ask_lanes(1);
  };
  CHECK(ask().living);
  {
    const engine::Guard stopped(comms.b.engine.lock());  // or its keeper would turn it
    for (int i = 0; i < 2000; ++i) {
      comms.a.turn();
      comms.relay.pump();
      REQUIRE_FALSE(ask().answered);
    }
  }
  REQUIRE(comms.until([&] { return ask().answered; }));
}
