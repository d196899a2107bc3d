#include "transport/session/hello.h"

#include <algorithm>
#include <array>
#include <catch2/catch.hpp>
#include <set>
#include <string_view>
#include <vector>

#include "transport/session/comm_table.h"
#include "transport/session/lane_opening.h"

using namespace tfabric;
using namespace tfabric::session;

namespace {

using Bytes = std::span<const std::byte>;

template <class Array>
Array filled(int first) {
  Array array{};
  for (std::size_t i = 0; i < array.size(); ++i) {
    array[i] = static_cast<std::byte>(static_cast<std::size_t>(first) + i);
  }
  return array;
}

Hello true_hello() {
  return {.token = filled<Token>(3),
          .comm = 0x1122334455667788u,
          .kind = HelloKind::joins,
          .rail = 0x0a0b,
          .serial = {0xfedcba98u},
          .nonce = filled<Nonce>(100),
          .port = 0x1516,
          .witness = {.process = 11, .address = {1, 2}, .port = 12, .token = {}}};
}

Welcome answer_to(const Hello& hello) {
  return {.status = WelcomeStatus::ok,
          .direct = true,
          .serial = hello.serial,
          .nonce = filled<Nonce>(200),
          .witness = {.process = 21, .address = {3}, .port = 22, .token = {}}};
}

std::vector<std::byte> label_and(std::string_view label, std::initializer_list<Bytes> parts) {
  const Bytes first = std::as_bytes(std::span(label));
  std::vector<std::byte> all(first.begin(), first.end());
  for (const Bytes part : parts) {
    all.insert(all.end(), part.begin(), part.end());
  }
  return all;
}

bool is_at(Bytes all, std::size_t at, Bytes part) {
  return std::equal(part.begin(), part.end(), all.subspan(at, part.size()).begin());
}

}  // namespace

using namespace std::string_view_literals;

TEST_CASE("hello and welcome read back as they were written, without the token") {
  const Hello hello = true_hello();
  const HelloBytes bytes = encode(hello);
  const auto decoded = decode_hello(bytes);
  REQUIRE(decoded.has_value());
  CHECK(decoded->comm == hello.comm);
  CHECK(decoded->kind == HelloKind::joins);
  CHECK(decoded->rail == hello.rail);
  CHECK(decoded->serial == hello.serial);
  CHECK(decoded->nonce == hello.nonce);
  CHECK(decoded->port == hello.port);
  CHECK(decoded->witness == hello.witness);
  CHECK(decoded->id == token_id(hello.token));
  CHECK(decoded->token == Token{});
  CHECK(is_signed(bytes, hello.token));
  const auto welcome = decode_welcome(encode(answer_to(hello), bytes, hello.token), bytes, hello.token);
  REQUIRE(welcome.has_value());
  CHECK(welcome->status == WelcomeStatus::ok);
  CHECK(welcome->direct);
  CHECK(welcome->serial == hello.serial);
  CHECK(welcome->nonce == filled<Nonce>(200));
  CHECK(welcome->witness == answer_to(hello).witness);
  const WelcomeBytes answer = encode(answer_to(hello), bytes, hello.token);
  for (const Bytes record : {Bytes(bytes), Bytes(answer)}) {
    CHECK(std::search(record.begin(), record.end(), hello.token.begin(), hello.token.begin() + 4) ==
          record.end());
  }
}

TEST_CASE("the handshake's records have their fields and tags where version 9 has them") {
  const Hello hello = true_hello();
  const Token& key = hello.token;
  const HelloBytes first = encode(hello);
  std::array<std::byte, witness::kContactBytes> contact{};
  CHECK(first[0] == std::byte{9});
  CHECK(first[1] == std::byte{1});
  CHECK(is_at(first, 2, std::as_bytes(std::span(&hello.rail, 1))));
  CHECK(is_at(first, 4, std::as_bytes(std::span(&hello.serial.value, 1))));
  CHECK(is_at(first, 8, std::as_bytes(std::span(&hello.comm, 1))));
  CHECK(is_at(first, 16, Bytes(siphash(key, label_and("\0id"sv, {}))).first(8)));
  CHECK(is_at(first, 24, std::array<std::byte, 2>{}));
  CHECK(is_at(first, 26, std::array{std::byte{0x16}, std::byte{0x15}}));
  CHECK(is_at(first, 28, std::array<std::byte, 4>{}));
  CHECK(is_at(first, 32, hello.nonce));
  lay_out(WireWriter(contact), hello.witness);
  CHECK(is_at(first, 48, contact));
  CHECK(is_at(first, 74, std::array<std::byte, 6>{}));
  const Tag tag1 = siphash(key, label_and("\1C"sv, {Bytes(first).first(80)}));
  CHECK(is_at(first, 80, tag1));

  const Welcome welcome = answer_to(hello);
  const WelcomeBytes second = encode(welcome, first, key);
  CHECK(is_at(second, 0, std::array{std::byte{9}, std::byte{0}, std::byte{0}, std::byte{1}}));
  CHECK(is_at(second, 4, std::as_bytes(std::span(&hello.serial.value, 1))));
  CHECK(is_at(second, 8, welcome.nonce));
  lay_out(WireWriter(contact), welcome.witness);
  CHECK(is_at(second, 24, contact));
  CHECK(is_at(second, 50, std::array<std::byte, 6>{}));
  const Tag tag2 = siphash(key, label_and("\2S"sv, {first, Bytes(second).first(56)}));
  CHECK(is_at(second, 56, tag2));
  CHECK(proof_of(first, second, key) == siphash(key, label_and("\3C"sv, {tag1, tag2})));
}

TEST_CASE("a hello of another version, mode or length, of no kind or without a serial is refused") {
  const auto with = [](std::size_t at, int value) {
    HelloBytes bytes = encode(true_hello());
    bytes[at] = static_cast<std::byte>(value);
    return decode_hello(bytes);
  };
  REQUIRE(with(0, 9));
  CHECK_FALSE(with(0, 8));
  CHECK_FALSE(with(1, 2));
  CHECK_FALSE(with(24, 1));
  CHECK(with(25, 1)->announce);
  CHECK_FALSE(with(25, 0)->announce);
  CHECK_FALSE(with(25, 2));
  Hello hello = true_hello();
  hello.serial = {0};
  CHECK_FALSE(decode_hello(encode(hello)));
  const HelloBytes bytes = encode(true_hello());
  for (std::size_t length = 0; length < bytes.size(); ++length) {
    CHECK_FALSE(decode_hello(Bytes(bytes).first(length)));
  }
}

TEST_CASE("a hello, a welcome or a proof of which one bit was changed is not signed") {
  const Hello hello = true_hello();
  const HelloBytes first = encode(hello);
  const WelcomeBytes second = encode(answer_to(hello), first, hello.token);
  const Tag proof = proof_of(first, second, hello.token);
  REQUIRE(is_proof(proof, proof));
  for (std::size_t bit = 0; bit < 8 * first.size(); ++bit) {
    const auto flip = static_cast<std::byte>(1u << bit % 8);
    HelloBytes other = first;
    other[bit / 8] ^= flip;
    REQUIRE_FALSE(is_signed(other, hello.token));
    // Of what only the hello says, the welcome is a proof, too.
    REQUIRE_FALSE(decode_welcome(second, other, hello.token));
    if (bit < 8 * second.size()) {
      WelcomeBytes changed = second;
      changed[bit / 8] ^= flip;
      REQUIRE_FALSE(decode_welcome(changed, first, hello.token));
    }
    if (bit < 8 * proof.size()) {
      Tag changed = proof;
      changed[bit / 8] ^= flip;
      REQUIRE_FALSE(is_proof(changed, proof));
    }
  }
  for (std::size_t length = 0; length < second.size(); ++length) {
    REQUIRE_FALSE(decode_welcome(Bytes(second).first(length), first, hello.token));
  }
  REQUIRE_FALSE(is_proof(Bytes(proof).first(15), proof));
}

TEST_CASE("no record of a handshake stands for another one, nor for the same of another connection") {
  const Hello hello = true_hello();
  Hello again = hello;
  again.nonce[0] ^= std::byte{1};
  const HelloBytes first = encode(hello), other = encode(again);
  Welcome answer = answer_to(hello);
  const WelcomeBytes second = encode(answer, first, hello.token);
  answer.nonce[0] ^= std::byte{1};
  const WelcomeBytes later = encode(answer, first, hello.token);
  CHECK_FALSE(decode_welcome(second, other, hello.token));
  CHECK_FALSE(decode_welcome(Bytes(first).first<sizeof(WelcomeBytes)>(), first, hello.token));
  // The tags of a captured handshake, as the proof of one that its hello was repeated in.
  const Tag expected = proof_of(first, later, hello.token);
  CHECK_FALSE(is_proof(proof_of(first, second, hello.token), expected));
  CHECK_FALSE(is_proof(Bytes(first).last<16>(), expected));
  CHECK_FALSE(is_proof(Bytes(later).last<16>(), expected));
  Token wrong = hello.token;
  wrong[15] ^= std::byte{0x80};
  CHECK_FALSE(is_signed(first, wrong));
  CHECK_FALSE(decode_welcome(second, first, wrong));
  CHECK_FALSE(is_proof(proof_of(first, later, wrong), expected));
  CHECK(token_id(wrong) != token_id(hello.token));
}

TEST_CASE("lanes of a comm have different nonces, and so have lanes of two comms") {
  std::set<Nonce> seen;
  for (const int comm : {1, 2}) {
    for (std::uint32_t serial = 1; serial <= 1000; ++serial) {
      seen.insert(nonce_of_lane(filled<Nonce>(comm), {serial}));
    }
  }
  CHECK(seen.size() == 2000);
}

TEST_CASE("two processes derive one key for their witnesses, whichever asks, and others do not") {
  const Token token = filled<Token>(3);
  CHECK(witness_key(token, 5, 7) == witness_key(token, 7, 5));
  CHECK(witness_key(token, 5, 7) != witness_key(token, 5, 8));
  CHECK(witness_key(filled<Token>(4), 5, 7) != witness_key(token, 5, 7));
}

namespace {

struct Opener final : LaneOpening::Opener {
  Status on_welcome(stripe::LaneId /*lane*/, const Welcome& welcome, const Tag& proof) override {
    welcomes.push_back(welcome);
    proofs.push_back(proof);
    return {};
  }
  std::vector<Welcome> welcomes;
  std::vector<Tag> proofs;
};

}  // namespace

TEST_CASE(
    "a lane that opens takes nothing but the answer to its hello, and says gone only if that is signed") {
  Opener comm;
  LaneOpening lane(comm, {0}, true_hello());
  const Token token = true_hello().token;
  Welcome gone = answer_to(true_hello());
  gone.status = WelcomeStatus::gone;
  const auto told = [&](lane::RecordType type, Bytes body) {
    return lane.on_control({.type = type, .length = static_cast<std::uint32_t>(body.size())}, body);
  };
  WelcomeBytes signed_gone = encode(gone, lane.hello(), token);
  WelcomeBytes forged = signed_gone;
  forged[56] ^= std::byte{1};
  CHECK_FALSE(told(lane::RecordType::welcome, forged));
  CHECK_FALSE(told(lane::RecordType::welcome, encode(gone, encode(Hello{.serial = {9}}), token)));
  CHECK_FALSE(told(lane::RecordType::welcome, {}));
  CHECK_FALSE(told(lane::RecordType::hello, lane.hello()));
  for (const auto type : {lane::RecordType::goodbye, lane::RecordType::posted, lane::RecordType::buried,
                          lane::RecordType::ask, lane::RecordType::proof}) {
    CHECK_FALSE(told(type, {}));
  }
  REQUIRE(comm.welcomes.empty());
  REQUIRE(told(lane::RecordType::welcome, signed_gone));
  CHECK(comm.welcomes.back().status == WelcomeStatus::gone);
  const WelcomeBytes welcome = encode(answer_to(true_hello()), lane.hello(), token);
  REQUIRE(told(lane::RecordType::welcome, welcome));
  CHECK(comm.welcomes.back().status == WelcomeStatus::ok);
  CHECK(comm.proofs.back() == proof_of(lane.hello(), welcome, token));
}

TEST_CASE("a comm that has ended is remembered for a minute, with its token") {
  struct Sink final : LaneSink {
    Status take_lane(std::unique_ptr<lane::Lane>&, const Hello&) override { return {}; }
  } sink;
  CommTable table;
  const Token token = filled<Token>(7);
  const CommTable::Key key{token_id(token), 9};
  const Instant start{};
  REQUIRE(table.add(token, 9, sink));
  CHECK_FALSE(table.add(token, 9, sink));
  CHECK(table.find(key)->sink == &sink);
  table.remove(key, start);
  table.forget(start + std::chrono::seconds(59));
  REQUIRE(table.find(key) != nullptr);
  CHECK(table.find(key)->sink == nullptr);
  CHECK(table.find(key)->token == token);
  table.forget(start + std::chrono::seconds(60));
  CHECK(table.find(key) == nullptr);
  for (std::uint64_t comm = 0; comm <= CommTable::kMaxRemembered; ++comm) {
    REQUIRE(table.add(token, comm, sink));
    table.remove({token_id(token), comm}, start);
  }
  CHECK(table.find({token_id(token), 0}) == nullptr);
  CHECK(table.find({token_id(token), 1}) != nullptr);
}
