// Strangers at both ends of a lane: those who repeat what they have seen, or make it up, join no comm and end
// none.
#include <catch2/catch.hpp>
#include <functional>
#include <memory>
#include <vector>

#include "tests/unit/tcp/caller.h"
#include "tests/unit/tcp/comm_pair.h"

using namespace tfabric;
using namespace tfabric::session;
using namespace tfabric::comm::test;
using Catch::Contains;

namespace {

// A piece of the message for receive 0, of wrong bytes.
std::vector<std::byte> wrong_piece(std::uint32_t length) {
  const lane::RecordHeader header{.type = lane::RecordType::piece, .length = length, .total = length};
  const auto bytes = lane::encode(header);
  std::vector<std::byte> words(bytes.begin(), bytes.end());
  words.resize(lane::header_bytes_of(header));
  words.resize(words.size() + length, std::byte{0xee});
  return words;
}

template <class... Parts>
std::vector<std::byte> all_of_these(const Parts&... parts) {
  std::vector<std::byte> all;
  (all.insert(all.end(), parts.begin(), parts.end()), ...);
  return all;
}

Hello lane_of(const Pair& pair, std::uint32_t serial, HelloKind kind = HelloKind::joins) {
  Hello hello = pair.hello;
  hello.kind = kind;
  hello.serial = {serial};
  return hello;
}

// Takes connections in the place of the true acceptor.
class Impostor final : public engine::Acceptor, public engine::FlowHandler {
 public:
  using Answer = std::function<void(engine::Flow&, std::span<const std::byte> hello)>;
  explicit Impostor(Answer answer) : answer_(std::move(answer)) {}

  bool on_connection(engine::Flow& flow) override {
    flow.set_handler(this, 0);
    ++calls;
    return true;
  }
  void on_time(Instant /*now*/) override {}
  std::size_t on_data(engine::Flow& flow, std::span<const std::byte> bytes) override {
    heard_.insert(heard_.end(), bytes.begin(), bytes.end());
    if (heard_.size() >= lane::kRecordHeaderBytes + sizeof(HelloBytes)) {
      answer_(flow, std::exchange(heard_, {}));
    }
    return bytes.size();
  }
  void on_progress(engine::Flow& /*flow*/) override {}
  void on_failed(engine::Flow& /*flow*/, stack::ConnectionError /*error*/) override {}

  int calls = 0;

 private:
  Answer answer_;
  std::vector<std::byte> heard_;
};

void say(engine::Flow& flow, lane::RecordType type, std::span<const std::byte> body) {
  REQUIRE(lane::send_record(flow.stream(), lane::encode_record(type, body)));
  flow.wake();
}

}  // namespace

TEST_CASE("a handshake that is repeated, whole or in part, joins no comm and brings no byte") {
  const HelloKind kind = GENERATE(HelloKind::opens, HelloKind::joins);
  // While the true lane lives, when it has ended in order, and when it has died.
  const int fate = GENERATE(0, 1, 2);
  World world;
  Pair pair(world);
  Caller truth;
  const Hello hello = lane_of(pair, 50, kind);
  truth.join(world, hello);
  REQUIRE(world.until([&] { return truth.proved && world.acceptor.half_open() == 0; }));
  const std::vector<std::byte> seen = all_of_these(record_of(hello), truth.proof());
  {
    const engine::Guard guard(world.engine.lock());
    if (fate == 1) {
      truth.flow->close();
    } else if (fate == 2) {
      truth.flow->abort();
    }
  }
  Pair::Message& message = pair.message(1000);
  pair.post_receive(message);
  std::vector<std::unique_ptr<Caller>> repeats;
  for (int i = 0; i < 20; ++i) {
    repeats.push_back(std::make_unique<Caller>());
    repeats.back()->hello = hello;
    repeats.back()->call(world, all_of_these(seen, wrong_piece(1000)));
  }
  REQUIRE(world.until([&] {
    return std::all_of(repeats.begin(), repeats.end(), [](const auto& caller) { return caller->refused; });
  }));
  CHECK(world.acceptor.half_open() == 0);
  CHECK_FALSE(pair.receive->failed());
  pair.post_send(message);
  pair.finish(message);
  pair.exchange(100'000);
  if (fate == 0) {
    const engine::Guard guard(world.engine.lock());
    truth.flow->abort();
  }
}

TEST_CASE("a hello that is repeated before its first use opens no comm, and does not hinder the true one") {
  World world;
  const Hello hello{.token = world.token, .comm = 77, .serial = {1}};
  Caller thief, truth;
  thief.greet(world, hello);
  REQUIRE(world.until([&] { return thief.answer().has_value(); }));
  CHECK_FALSE(world.pending.has_ready());
  CHECK(world.acceptor.half_open() == 1);
  truth.join(world, hello);
  REQUIRE(world.until([&] { return world.pending.has_ready(); }));
  {
    const engine::Guard guard(world.engine.lock());
    thief.say(truth.proof());  // of the other connection
  }
  REQUIRE(world.until([&] { return thief.refused; }));
  CHECK(world.acceptor.half_open() == 0);
  const engine::Guard guard(world.engine.lock());
  truth.flow->abort();
}

TEST_CASE("who does not have the token can make up no hello, and gets no answer") {
  World world;
  Pair pair(world);
  Hello hello = lane_of(pair, 50, GENERATE(HelloKind::opens, HelloKind::joins));
  std::vector<std::vector<std::byte>> forged;
  std::vector<std::byte> words = record_of(hello);
  words.back() ^= std::byte{1};
  forged.push_back(words);  // another tag
  words = record_of(hello);
  words[lane::kRecordHeaderBytes + 4] ^= std::byte{1};
  forged.push_back(words);  // another serial
  hello.token[0] ^= std::byte{1};
  words = record_of(hello);
  const auto id = token_id(pair.hello.token);
  std::copy_n(std::as_bytes(std::span(&id, 1)).begin(), sizeof id, &words[lane::kRecordHeaderBytes + 16]);
  forged.push_back(words);  // the right id, signed with another token
  forged.push_back(lane::encode_record(lane::RecordType::proof, Tag{}));  // no hello at all
  for (const std::vector<std::byte>& each : forged) {
    Caller caller;
    caller.call(world, each);
    REQUIRE(world.until([&] { return caller.refused; }));
    CHECK(caller.heard.empty());
  }
  CHECK(world.acceptor.half_open() == 0);
  pair.exchange(10'000);
}

TEST_CASE("a connection that does not prove itself is half-open, takes no byte, and can be evicted") {
  World world;
  Pair pair(world);
  Caller caller;
  caller.greet(world, lane_of(pair, 50));
  REQUIRE(world.until([&] { return caller.answer().has_value(); }));
  CHECK(world.acceptor.half_open() == 1);
  SECTION("a piece instead of the proof") {
    {
      const engine::Guard guard(world.engine.lock());
      caller.say(wrong_piece(100));
    }
    REQUIRE(world.until([&] { return caller.refused; }));
  }
  SECTION("nothing, for too long") {
    const engine::Guard guard(world.engine.lock());
    world.acceptor.on_time(monotonic_now());
    world.acceptor.on_time(monotonic_now() + std::chrono::seconds(11));
  }
  CHECK(world.acceptor.half_open() == 0);
  REQUIRE(world.until([&] { return caller.refused; }));
  pair.exchange(10'000);
}

TEST_CASE(
    "a connector of a comm that has ended is told so, signed, and what it says besides does not count") {
  World world;
  auto pair = std::make_unique<Pair>(world);
  const Hello hello = lane_of(*pair, 50, GENERATE(HelloKind::opens, HelloKind::joins));
  pair.reset();
  Caller caller;
  caller.hello = hello;
  caller.call(world, all_of_these(record_of(hello), record_of(hello), wrong_piece(10)));
  REQUIRE(world.until([&] { return caller.answer().has_value(); }));
  CHECK(caller.answer()->status == WelcomeStatus::gone);
  CHECK(world.acceptor.half_open() == 0);
  CHECK_FALSE(world.pending.has_ready());
  Pair next(world);
  next.exchange(10'000);
}

TEST_CASE("whoever answers in the listener's place, without its token, costs the lane and not the comm") {
  World world;
  Pair pair(world);
  const Hello other = lane_of(pair, 1);
  const HelloBytes other_bytes = encode(other);
  const std::vector<std::pair<const char*, Impostor::Answer>> answers = {
      {"gone, unsigned",
       [&](engine::Flow& flow, auto) {
         WelcomeBytes gone = encode({.status = WelcomeStatus::gone, .serial = {3}}, other_bytes, Token{});
         say(flow, lane::RecordType::welcome, gone);
       }},
      {"gone, signed for another hello",
       [&](engine::Flow& flow, auto) {
         say(flow, lane::RecordType::welcome,
             encode({.status = WelcomeStatus::gone, .serial = other.serial}, other_bytes, world.token));
       }},
      {"the hello itself",
       [](engine::Flow& flow, std::span<const std::byte> hello) {
         REQUIRE(lane::send_record(flow.stream(), hello));
         flow.wake();
       }},
      {"a goodbye", [](engine::Flow& flow, auto) { say(flow, lane::RecordType::goodbye, {}); }},
      {"a burial",
       [](engine::Flow& flow, auto) {
         REQUIRE(lane::send_record(flow.stream(), lane::encode_position(lane::RecordType::buried, {{1}, 0})));
         flow.wake();
       }},
      {"rubbish",
       [](engine::Flow& flow, auto) {
         REQUIRE(lane::send_record(flow.stream(), std::vector<std::byte>(100, std::byte{0x41})));
         flow.wake();
       }},
      {"an end in order", [](engine::Flow& flow, auto) { flow.close(); }},
      {"a reset with a reason", [](engine::Flow& flow, auto) { flow.abort("the job has failed"); }}};
  const auto& [what, answer] = answers[static_cast<std::size_t>(GENERATE(range(0, 8)))];
  INFO(what);
  Impostor impostor(answer);
  {
    const engine::Guard guard(world.engine.lock());
    world.engine.set_acceptor(&impostor);
  }
  const std::uint64_t joined_before = pair.send->counters().joined;
  pair.use_flows({0}, 2, 2);
  REQUIRE(world.until([&] { return pair.send->counters().refused >= 2; }));  // and is dialled again
  CHECK(impostor.calls >= 2);
  CHECK_FALSE(pair.send->failed());
  pair.exchange(100'000);
  {
    const engine::Guard guard(world.engine.lock());
    world.engine.set_acceptor(&world.acceptor);
  }
  REQUIRE(world.until([&] { return pair.send->counters().joined > joined_before; }));
  pair.exchange(100'000);
}
