// Flows that join and leave a comm while it is in use.
#include <algorithm>
#include <catch2/catch.hpp>

#include "base/random.h"
#include "tests/unit/tcp/caller.h"
#include "tests/unit/tcp/comm_pair.h"

using namespace tfabric;
using namespace tfabric::comm;
using namespace tfabric::flows;
using namespace tfabric::session;
using namespace tfabric::comm::test;

namespace {

std::size_t live_flows(World& world) {
  const engine::Guard guard(world.engine.lock());
  return world.engine.flows();
}

}  // namespace

TEST_CASE("a path does not remember a comm that is closed with a message still posted") {
  World world;
  const Hello hello{.token = world.token, .comm = random_u64(), .serial = {}, .witness = {}};
  const auto path = std::make_shared<Path>(FlowChoice{}, "test");
  auto send = open_send(world, hello, 1, kBothOwn, path);
  std::array<std::byte, 100> data{};
  {
    const engine::Guard guard(world.engine.lock());  // so that no turn takes it
    auto request = send->isend(data.data(), data.size(), 0, nullptr);
    REQUIRE(request.ok());
    REQUIRE(*request != nullptr);
  }
  send.reset();
  CHECK(path->unused());
  const engine::Guard guard(world.engine.lock());
  CHECK(path->poll(world.engine.now() + std::chrono::hours(1)));  // asks none
}

TEST_CASE("flows join and leave while messages are under way, and all messages arrive whole and in order") {
  const auto seed = GENERATE(range(1, 6));
  INFO("seed " << seed);
  SeededRandom random(static_cast<std::uint64_t>(seed));
  World world({.piece_bytes = 4096});
  Pair pair(world);
  std::vector<Pair::Message*> messages;
  for (int i = 0; i < 60; ++i) {
    messages.push_back(&pair.message(random.between(std::uint64_t{0}, 200000u)));
  }
  std::size_t received = 0, finished = 0;
  for (Pair::Message* message : messages) {
    pair.post_send(*message);
    const auto flows = static_cast<std::uint32_t>(random.between(std::uint64_t{0}, 6u));
    const stripe::RouteId route{random.chance(0.5) ? std::size_t{1} : std::size_t{0}};
    pair.use_flows(route, std::max(flows, route.value == 0 ? 1u : 0u), flows + 1);
    // Receives lag behind, so that data waits in flows that are leaving.
    for (; received < messages.size() && random.chance(0.6) && messages[received]->out != nullptr;
         ++received) {
      pair.post_receive(*messages[received]);
    }
    for (; finished + 8 < received; ++finished) {
      pair.finish(*messages[finished]);
    }
  }
  for (; finished < messages.size(); ++finished) {
    for (; received < messages.size(); ++received) {
      pair.post_receive(*messages[received]);
    }
    pair.finish(*messages[finished]);
  }
  // Four flows remain: both ends of two. The others may be in TIME-WAIT for a moment. Like the path, the test
  // repeats the number of flows, since further ones may still be joining.
  REQUIRE(world.until([&] {
    pair.use_flows({0}, 1, 1);
    pair.use_flows({1}, 1, 1);
    return live_flows(world) <= 4;
  }));
  pair.exchange(1000000);
  CHECK_FALSE(pair.receive->failed());
}

TEST_CASE("a flow that leaves with data whose receive is not posted delivers it later") {
  World world({.piece_bytes = 4096});
  Pair pair(world);
  std::vector<Pair::Message*> messages{&pair.message(300000), &pair.message(0), &pair.message(5)};
  for (Pair::Message* message : messages) {
    pair.post_send(*message);
  }
  REQUIRE(world.until([&] { return !pair.send->failed(); }));
  pair.use_flows({1}, 0, 0);
  for (int i = 0; i < 2000; ++i) {
    const engine::Guard guard(world.engine.lock());
    world.engine.turn();
  }
  for (Pair::Message* message : messages) {
    pair.post_receive(*message);
    pair.finish(*message);
  }
  REQUIRE(world.until([&] { return live_flows(world) <= 2; }));
  pair.exchange(100);
}

TEST_CASE("the receiver sees the end of the comm only when its last flow is closed") {
  World world;
  Pair pair(world);
  pair.use_flows({0}, 3, 3);
  pair.exchange(100000);
  pair.use_flows({0}, 1, 1);
  pair.use_flows({1}, 0, 0);
  REQUIRE(world.until([&] { return live_flows(world) <= 2; }));
  CHECK_FALSE(pair.receive->failed());
  pair.send.reset();
  REQUIRE(world.until([&] { return pair.receive->failed(); }));
  CHECK_THAT(pair.receive->error().message, Catch::Contains("the peer closed it"));
}

TEST_CASE("closing the sender while flows join fails nothing that was sent") {
  World world;
  Pair pair(world);
  Pair::Message& message = pair.message(50000);
  pair.post_receive(message);
  pair.post_send(message);
  pair.finish(message);
  pair.use_flows({0}, 8, 8);  // their SYNs have not even left
  pair.send.reset();
  REQUIRE(world.until([&] { return pair.receive->failed(); }));
  CHECK_THAT(pair.receive->error().message, Catch::Contains("the peer closed it"));
}

TEST_CASE("a link that goes down takes flows that have nothing left to bring, and the comm goes on") {
  World world({.piece_bytes = 4096});
  Pair pair(world);
  pair.exchange(100000);
  pair.use_flows({1}, 0, 0);
  REQUIRE(world.until([&] { return live_flows(world) <= 2; }));
  {
    const engine::Guard guard(world.engine.lock());
    static_cast<void>(world.tcp.remove_link(*world.links[1]));
  }
  pair.exchange(100000);
}

TEST_CASE("a comm that has neither a lane nor a link left fails at once") {
  World world({.piece_bytes = 4096});
  Pair pair(world);
  pair.use_flows({1}, 0, 0);
  REQUIRE(world.until([&] { return live_flows(world) <= 2; }));
  {
    const engine::Guard guard(world.engine.lock());
    pair.use_flows_locked({1}, 2, 2);  // their SYNs are not answered any more
    static_cast<void>(world.tcp.remove_link(*world.links[1]));
  }
  CHECK_FALSE(pair.send->failed());
  pair.exchange(100000);
  {
    const engine::Guard guard(world.engine.lock());
    static_cast<void>(world.tcp.remove_link(*world.links[0]));
  }
  CHECK(pair.send->failed());
}

TEST_CASE("grouped receives keep their order while flows come and go") {
  World world({.piece_bytes = 4096, .max_recvs = 4});
  Pair pair(world);
  for (int round = 0; round < 40; ++round) {
    pair.use_flows({static_cast<std::size_t>(round % 2)}, static_cast<std::uint32_t>(round % 4), 4);
    Pair::Message& first = pair.message(static_cast<std::size_t>(round) * 777, 7);
    Pair::Message& second = pair.message(20000, 8);
    const std::array buffers{
        transport::ReceiveBuffer{first.received.data(), first.received.size(), 7, nullptr},
        transport::ReceiveBuffer{second.received.data(), second.received.size(), 8, nullptr}};
    auto group = pair.receive->irecv(buffers);
    REQUIRE((group.ok() && *group != nullptr));
    pair.post_send(second);
    pair.post_send(first);
    std::array<int, 2> sizes{};
    REQUIRE(world.until([&] {
      const auto done = (*group)->test(sizes.data());
      REQUIRE(done.ok());
      return *done;
    }));
    CHECK(sizes == std::array{round * 777, 20000});
    for (Pair::Message* message : {&first, &second}) {
      pair.finish_send(*message);
    }
  }
}

TEST_CASE("a flow that joins with the comm's numbers is welcomed, and one without learns nothing") {
  World world;
  Pair pair(world);
  Hello hello = pair.hello;
  hello.kind = HelloKind::joins;
  hello.serial = {50};
  Caller right, wrong_comm, tokenless, stranger, old;
  right.join(world, hello);
  hello.comm ^= 1;
  wrong_comm.join(world, hello);
  hello.token = {};
  tokenless.join(world, hello);
  hello.kind = HelloKind::opens;
  stranger.join(world, hello);
  auto words = record_of(pair.hello);
  words[lane::kRecordHeaderBytes] = std::byte{kProtocolVersion - 1};
  old.call(world, words);
  REQUIRE(world.until([&] {
    return right.proved && wrong_comm.refused && tokenless.refused && stranger.refused && old.refused &&
           world.acceptor.half_open() == 0;
  }));
  CHECK(right.answer()->serial.value == 50);
  CHECK(wrong_comm.heard.size() + tokenless.heard.size() + stranger.heard.size() + old.heard.size() == 0);
  {
    const engine::Guard guard(world.engine.lock());
    right.flow->close();
  }
  pair.exchange(10000);
}

TEST_CASE("a comm takes no more flows than it may have") {
  World world;
  Pair pair(world);
  Hello hello = pair.hello;
  hello.kind = HelloKind::joins;
  std::vector<std::unique_ptr<Caller>> callers;
  for (std::uint32_t i = 0; i < kMaxLanes; ++i) {
    hello.serial = {100 + i};
    callers.push_back(std::make_unique<Caller>());
    callers.back()->join(world, hello);
  }
  const auto proved = [&](const std::unique_ptr<Caller>& caller) { return caller->proved; };
  const auto refused = [&](const std::unique_ptr<Caller>& caller) { return caller->refused; };
  REQUIRE(world.until([&] {
    return std::count_if(callers.begin(), callers.end(), proved) == kMaxLanes &&
           std::count_if(callers.begin(), callers.end(), refused) == 2 && world.acceptor.half_open() == 0;
  }));
  for (const auto& caller : callers) {
    if (!caller->refused) {
      const engine::Guard guard(world.engine.lock());
      caller->flow->close();
    }
  }
  pair.exchange(10000);
}

namespace {

// Appends a piece of a message for receive `group`.
void append_piece(std::vector<std::byte>& stream, std::uint32_t group, std::uint32_t offset,
                  std::uint32_t length, std::uint32_t total) {
  const lane::RecordHeader header{
      .type = lane::RecordType::piece, .group = {group}, .length = length, .total = total, .offset = offset};
  const auto bytes = lane::encode(header);
  const std::size_t begin = stream.size();
  stream.insert(stream.end(), bytes.begin(), bytes.end());
  stream.resize(begin + lane::header_bytes_of(header) + length);
}

Hello joining(const Pair& pair) {
  Hello hello = pair.hello;
  hello.kind = HelloKind::joins;
  hello.serial = {50};
  return hello;
}

}  // namespace

TEST_CASE("a piece that comes twice fails the receive, although the sizes add up") {
  // At once with the proof, when the flow still belongs to the acceptor, and when the comm has it.
  const bool at_once = GENERATE(true, false);
  Caller caller;  // outlives the pair, whose end takes a turn of the engine
  World world;
  Pair pair(world);
  Pair::Message& message = pair.message(384);
  pair.post_receive(message);
  std::vector<std::byte> pieces;
  append_piece(pieces, 0, 0, 128, 384);
  append_piece(pieces, 0, 128, 128, 384);
  append_piece(pieces, 0, 128, 128, 384);
  caller.join(world, joining(pair), at_once ? pieces : std::vector<std::byte>());
  if (!at_once) {
    REQUIRE(world.until([&] { return caller.proved && world.acceptor.half_open() == 0; }));
    const engine::Guard guard(world.engine.lock());
    REQUIRE(lane::send_record(caller.flow->stream(), pieces));
    caller.flow->wake();
  }
  REQUIRE(world.until([&] { return pair.receive->failed(); }));
  CHECK_THAT(pair.receive->error().message,
             Catch::Contains("sent bytes 128 to 255 of the message for receive 0 twice"));
  const auto result = message.in->test(nullptr);
  REQUIRE_FALSE(result.ok());
  CHECK_THAT(result.error().message, Catch::Contains("twice"));
}

TEST_CASE("a flow that is closed in the middle of a message fails the comm") {
  Caller caller;  // outlives the pair, whose end takes a turn of the engine
  World world;
  Pair pair(world);
  Pair::Message& message = pair.message(300);
  pair.post_receive(message);
  std::vector<std::byte> words;
  append_piece(words, 0, 0, 128, 256);
  words.resize(words.size() - GENERATE(1u, 128u, 140u));
  caller.join(world, joining(pair), words);
  REQUIRE(world.until([&] { return caller.proved && world.acceptor.half_open() == 0; }));
  {
    const engine::Guard guard(world.engine.lock());
    caller.flow->close();
  }
  REQUIRE(world.until([&] { return pair.receive->failed(); }));
  CHECK_THAT(pair.receive->error().message, Catch::Contains("the peer closed it in the middle of a message"));
}

TEST_CASE("receives behind one whose message is just being set aside are reported when it has come") {
  Caller caller;  // outlives the comm, whose end takes a turn of the engine
  World world;
  std::vector<std::byte> words, rest;
  append_piece(words, 0, 0, 1000, 1000);
  rest.assign(words.end() - 400, words.end());
  words.resize(words.size() - rest.size());
  caller.join(world, {.token = world.token, .comm = 77, .serial = {1}}, words);
  REQUIRE(world.until([&] { return world.pending.has_ready(); }));
  std::unique_ptr<RecvComm> receive;
  {
    const engine::Guard guard(world.engine.lock());
    receive = world.pending.take();
  }
  std::vector<std::byte> small(1000), large(100'000);
  std::array<transport::Request*, 2> requests{};
  for (std::size_t i = 0; i < 2; ++i) {
    std::vector<std::byte>& memory = i == 0 ? small : large;
    const transport::ReceiveBuffer buffer{memory.data(), memory.size(), 0, nullptr};
    const auto request = receive->irecv(std::span(&buffer, 1));
    REQUIRE((request.ok() && *request != nullptr));
    requests[i] = *request;
  }
  const auto reported = [&] {
    return caller
        .find(lane::RecordType::posted,
              [](const lane::RecordHeader& header) { return header.group.value == 2; })
        .has_value();
  };
  for (int i = 0; i < 1000; ++i) {
    const engine::Guard guard(world.engine.lock());
    world.engine.turn();
  }
  CHECK_FALSE(reported());
  {
    const engine::Guard guard(world.engine.lock());
    REQUIRE(lane::send_record(caller.flow->stream(), rest));
    caller.flow->wake();
  }
  REQUIRE(world.until(reported));
  CHECK(*requests[0]->test(nullptr));
}

TEST_CASE("a second connection under one serial is refused, and the comm has one lane") {
  World world;
  const Hello hello{.token = world.token, .comm = 77, .serial = {1}};
  Caller first, second;
  first.join(world, hello);
  REQUIRE(world.until([&] { return world.pending.has_ready(); }));
  second.join(world, hello);
  REQUIRE(world.until([&] { return second.proved && second.refused; }));
  const engine::Guard guard(world.engine.lock());
  first.flow->abort();
}

TEST_CASE("a connection that opens a comm which has been closed makes no second comm") {
  World world;
  const Hello hello{.token = world.token, .comm = 77, .serial = {1}};
  Caller first, late;
  first.join(world, hello);
  REQUIRE(world.until([&] { return world.pending.has_ready(); }));
  std::unique_ptr<RecvComm> comm;
  {
    const engine::Guard guard(world.engine.lock());
    comm = world.pending.take();
  }
  comm.reset();
  late.join(world, {.token = world.token, .comm = 77, .serial = {2}});
  REQUIRE(world.until([&] { return late.answer().has_value(); }));
  CHECK(late.answer()->status == WelcomeStatus::gone);
  CHECK_FALSE(world.pending.has_ready());
  const engine::Guard guard(world.engine.lock());
  first.flow->abort();
}
