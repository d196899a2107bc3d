// The end of comms: what a sender was told to be sent comes out, whatever becomes of the connection; and a
// peer that closes is no error of a post.
#include <array>
#include <bitset>
#include <catch2/catch.hpp>

#include "tests/unit/tcp/comm_pair.h"

using namespace tfabric;
using namespace tfabric::comm;
using namespace tfabric::session;
using namespace tfabric::comm::test;
using Catch::Contains;

namespace {

using namespace std::chrono_literals;

// A message that is not sent before its receive is posted.
constexpr std::size_t kLarge = 12'000'000;

// Comms that give up soon when no lane is left.
CommOptions impatient() { return {.piece_bytes = 4096, .outage = 50ms}; }

void finish_send(World& world, Pair::Message& message) {
  REQUIRE(world.until([&] {
    const Result<bool> done = message.out->test(nullptr);
    INFO((done ? std::string() : done.error().message));
    REQUIRE(done.ok());
    return *done;
  }));
  message.out = nullptr;
}

// Sends messages none of whose receives is posted, until the sends are done and the peer has them.
std::vector<Pair::Message*> send_ahead(World& world, Pair& pair) {
  std::vector<Pair::Message*> messages{&pair.message(10'000), &pair.message(0), &pair.message(5),
                                       &pair.message(stripe::kMaxEagerBytes), &pair.message(0)};
  for (Pair::Message* message : messages) {
    pair.post_send(*message);
  }
  for (Pair::Message* message : messages) {
    finish_send(world, *message);
  }
  REQUIRE(world.until([&] { return !pair.send->owes(); }));
  return messages;
}

Error failure_of(World& world, transport::Request& request) {
  std::optional<Error> error;
  REQUIRE(world.until([&] {
    const Result<bool> done = request.test(nullptr);
    REQUIRE_FALSE((done.ok() && *done));
    if (!done) {
      error = done.error();
    }
    return error.has_value();
  }));
  return error.value_or(Error{});
}

void remove_link(World& world, std::size_t number) {
  const engine::Guard guard(world.engine.lock());
  static_cast<void>(world.tcp.remove_link(*world.links.at(number)));
}

void turn(World& world, int times) {
  for (int i = 0; i < times; ++i) {
    const engine::Guard guard(world.engine.lock());
    world.engine.turn();
  }
}

// The sending end of a comm with a flow on each link, toward the listener with this token.
std::unique_ptr<SendComm> open_welcomed(World& world, const Token& token) {
  auto send = test::open_send(world, {.token = token, .comm = random_u64(), .serial = {}}, /*max_recvs=*/1);
  REQUIRE(world.until([&] { return send->counters().joined == 1; }));
  return send;
}

// A receiver's end that reads of its two flows what the test allows, and has posted one receive.
struct Reading final : LaneSink, engine::FlowHandler {
  explicit Reading(World& world) : world_(&world) {}
  Status take_lane(std::unique_ptr<lane::Lane>& lane, const Hello& hello) override {
    const std::size_t number = hello.serial.value - 1;
    lane->enter({number}, hello.serial, "test");
    REQUIRE(lane->say(lane::encode({.type = lane::RecordType::posted, .group = {1}})));
    const auto& all = world_->tcp.all_flows();
    const auto flow = std::find_if(all.begin(), all.end(), [&](const auto& each) {
      return each->handler() != nullptr && lane->name().find(each->describe()) != std::string::npos;
    });
    REQUIRE(flow != all.end());
    (*flow)->set_handler(this, number);
    flows.at(number) = flow->get();
    lanes.push_back(std::move(lane));  // it is reading the proof just now
    return {};
  }
  std::size_t on_data(engine::Flow& flow, std::span<const std::byte> bytes) override {
    const std::size_t n = allowed.test(flow.index()) ? bytes.size() : 0;
    read.at(flow.index()) += n;
    return n;
  }
  void on_progress(engine::Flow&) override {}
  void on_failed(engine::Flow& flow, stack::ConnectionError) override { flows.at(flow.index()) = nullptr; }

  std::array<engine::Flow*, 2> flows{};
  std::array<std::size_t, 2> read{};
  std::bitset<2> allowed;
  std::vector<std::unique_ptr<lane::Lane>> lanes;

 private:
  World* world_;
};

}  // namespace

TEST_CASE("messages that have arrived come out, whatever became of their lanes") {
  // Receives are posted one after the other, or all at once with one more than messages were sent.
  const bool at_once = GENERATE(false, true);
  const int turns = GENERATE(0, 1, 50);
  World world(impatient());
  Pair pair(world);
  const std::vector<Pair::Message*> messages = send_ahead(world, pair);
  const char* reason = "the peer";
  SECTION("both links are gone") {
    remove_link(world, 0);
    remove_link(world, 1);
    reason = "the peer is unreachable";
  }
  SECTION("the sender has closed, and then the links have gone") {
    pair.send.reset();
    turn(world, turns);
    remove_link(world, 1);
    remove_link(world, 0);
  }
  SECTION("the sender has closed with another message under way") {
    pair.post_send(pair.message(kLarge));
    turn(world, turns);
    pair.send.reset();
    reason = "the peer closed its communicator while requests were outstanding";
  }
  turn(world, 200);
  REQUIRE_FALSE(pair.receive->failed());

  Pair::Message& beyond = pair.message(kLarge);
  if (at_once) {
    for (Pair::Message* message : messages) {
      pair.post_receive(*message);
    }
    pair.post_receive(beyond);
  }
  for (Pair::Message* message : messages) {
    if (!at_once) {
      pair.post_receive(*message);
    }
    pair.finish(*message);
  }
  if (!at_once) {
    pair.post_receive(beyond);
  }
  const Error error = failure_of(world, *beyond.in);
  CHECK(error.code == Errc::remote);
  CHECK_THAT(error.message, Contains(reason));
  const transport::ReceiveBuffer buffer{beyond.received.data(), 1, 0, nullptr};
  CHECK_FALSE(pair.receive->irecv(std::span(&buffer, 1)).ok());
}

TEST_CASE(
    "a comm that is closed after its last send sees that the message arrives, though its lanes are cut") {
  const std::size_t size = GENERATE(std::size_t{8}, std::size_t{0}, std::size_t{4096}, std::size_t{16384});
  const std::size_t wire = GENERATE(std::size_t{0}, std::size_t{1});
  World world;
  Pair pair(world);
  pair.exchange(1000);
  world.cut(wire, CutWire::State::swallows);
  std::vector<Pair::Message*> messages;
  for (int i = 0; i < 3; ++i) {  // over both lanes
    messages.push_back(&pair.message(size));
    pair.post_send(*messages.back());
    finish_send(world, *messages.back());
  }
  pair.send.reset();
  for (Pair::Message* message : messages) {
    pair.post_receive(*message);
    pair.finish(*message);
  }
}

TEST_CASE("closing comms whose peer is gone takes a bounded time for all of them together") {
  World world;
  std::vector<std::unique_ptr<Pair>> pairs;
  for (int i = 0; i < 6; ++i) {
    pairs.push_back(std::make_unique<Pair>(world));
  }
  for (std::size_t i = 0; i < kAddresses.size(); ++i) {
    world.cut(i, CutWire::State::swallows);
  }
  const Instant begin = monotonic_now();
  for (const auto& pair : pairs) {
    Pair::Message& message = pair->message(64);
    pair->post_send(message);
    finish_send(world, message);
    pair->send.reset();
  }
  // 3 s, 1.5 s and so on.
  CHECK(monotonic_now() - begin >= 5s);
  const engine::Guard guard(world.engine.lock());
  CHECK(world.peers.patience == Peers::kPatience / 64);
}

TEST_CASE("messages come out of a comm that is accepted after its sender and their link have gone") {
  World world(impatient());
  std::vector<std::byte> sent(10'000, std::byte{7}), received(10'000);
  auto send = open_welcomed(world, world.token);
  const auto out = send->isend(sent.data(), sent.size(), 0, nullptr);
  REQUIRE((out.ok() && *out != nullptr));
  REQUIRE(world.until([&] {
    const Result<bool> done = (*out)->test(nullptr);
    return done.ok() && *done;
  }));
  send.reset();
  remove_link(world, 0);
  remove_link(world, 1);
  std::unique_ptr<RecvComm> receive;
  {
    const engine::Guard guard(world.engine.lock());
    receive = world.pending.take();
  }
  REQUIRE(receive != nullptr);
  const transport::ReceiveBuffer buffer{received.data(), received.size(), 0, nullptr};
  const auto in = receive->irecv(std::span(&buffer, 1));
  REQUIRE((in.ok() && *in != nullptr));
  REQUIRE(world.until([&] {
    const Result<bool> done = (*in)->test(nullptr);
    REQUIRE(done.ok());
    return *done;
  }));
  CHECK(received == sent);
}

TEST_CASE("a receiver that closes after its last message is no error of the send, on any of its flows") {
  link::Options small;
  small.tcp.receive_buffer = 64u << 10;
  World world({.piece_bytes = 128u << 10}, small);  // what a lane without a known rate gets
  Reading receiver(world);
  Token token{};
  fill_random(token);
  {
    const engine::Guard guard(world.engine.lock());
    world.acceptor.add_listener(token, receiver);
  }
  auto send = open_welcomed(world, token);
  receiver.allowed.set(0);
  const std::vector<std::byte> bytes(256u << 10);
  const auto out = send->isend(bytes.data(), bytes.size(), 0, nullptr);
  REQUIRE((out.ok() && *out != nullptr));
  const std::size_t piece = (128u << 10) + lane::kLargePieceHeaderBytes;
  REQUIRE(world.until([&] { return receiver.read[0] == piece; }));
  // The first flow's FIN comes before the second flow's acknowledgements.
  {
    const engine::Guard guard(world.engine.lock());
    receiver.flows[0]->close();
  }
  turn(world, 1000);
  const Result<bool> early = (*out)->test(nullptr);
  INFO((early ? std::string() : early.error().message));
  REQUIRE((early.ok() && !*early));
  {
    const engine::Guard guard(world.engine.lock());
    receiver.allowed.set(1);
    world.tcp.resume(static_cast<link::TcpFlow&>(*receiver.flows[1]));
  }
  REQUIRE(world.until([&] {
    const Result<bool> done = (*out)->test(nullptr);
    REQUIRE(done.ok());
    return *done;
  }));
  CHECK(receiver.read[1] == piece);
  {
    const engine::Guard guard(world.engine.lock());
    receiver.flows[1]->close();
  }
  REQUIRE(world.until([&] { return send->failed(); }));
  CHECK_THAT(send->error().message, Contains("the peer closed its communicator"));
  const engine::Guard guard(world.engine.lock());
  world.acceptor.remove_listener(token);
}

TEST_CASE("a receiver that closes is no error of isend, but of the request's test") {
  World world({.max_recvs = GENERATE(std::uint8_t{1}, std::uint8_t{4}), .outage = 50ms});
  Pair pair(world);
  const char* reason = "the peer closed its communicator";
  SECTION("with nothing outstanding") { pair.receive.reset(); }
  SECTION("with receives outstanding") {
    for (int i = 0; i < 3; ++i) {
      pair.post_receive(pair.message(1000));
    }
    pair.receive.reset();
  }
  SECTION("and its links go at once") {
    pair.receive.reset();
    remove_link(world, 1);
    remove_link(world, 0);
    reason = "the peer is unreachable";  // the FINs were on the links
  }
  REQUIRE(world.until([&] { return pair.send->failed(); }));
  // As many as NCCL may have outstanding, and some more.
  std::vector<transport::Request*> requests;
  for (std::size_t i = 0; i < transport::kMaxRequests + 2; ++i) {
    const auto request = pair.send->isend(nullptr, 0, 0, nullptr);
    REQUIRE(request.ok());
    if (*request != nullptr) {
      requests.push_back(*request);
    }
  }
  REQUIRE(requests.size() == transport::kMaxRequests);
  for (transport::Request* request : requests) {
    const Result<bool> done = request->test(nullptr);
    REQUIRE_FALSE(done.ok());
    CHECK(done.error().code == Errc::remote);
    CHECK_THAT(done.error().message, Contains(reason));
  }
  CHECK_FALSE(pair.send->isend(nullptr, 0, 0, nullptr).ok());
}

TEST_CASE("a sender that closes is no error of irecv, but of the request's test") {
  World world({.max_recvs = GENERATE(std::uint8_t{1}, std::uint8_t{4})});
  Pair pair(world);
  SECTION("with nothing outstanding") { pair.send.reset(); }
  SECTION("with a message under way") {
    if (world.context.options.max_recvs > 1) {
      pair.post_receive(pair.message(kLarge));
    }
    pair.post_send(pair.message(kLarge));
    pair.send.reset();
  }
  REQUIRE(world.until([&] { return pair.receive->failed(); }));
  std::vector<Pair::Message*> messages;
  for (int i = 0; i < 3; ++i) {
    messages.push_back(&pair.message(kLarge));
    pair.post_receive(*messages.back());
  }
  for (Pair::Message* message : messages) {
    CHECK_THAT(failure_of(world, *message->in).message, Contains("the peer closed its communicator"));
  }
}
