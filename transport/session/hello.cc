#include "transport/session/hello.h"

#include <algorithm>
#include <initializer_list>
#include <string_view>
#include <vector>

#include "base/wire_codec.h"
#include "transport/lane/record.h"

namespace tfabric::session {
namespace {

using Bytes = std::span<const std::byte>;

constexpr std::size_t kHelloTagAt = 80, kWelcomeTagAt = 56, kSerialAt = 4;
constexpr std::byte kPlain{0};  // the mode of lanes that are not sealed

static_assert(kHelloTagAt + sizeof(Tag) == sizeof(HelloBytes));
static_assert(kWelcomeTagAt + sizeof(Tag) == sizeof(WelcomeBytes));
static_assert(sizeof(HelloBytes) <= lane::kMaxControlBytes);

// Both without their tags.
bool lay_out(auto&& wire, WireMessage<Hello> auto& hello) {
  wire.fixed(kProtocolVersion).u8(hello.kind).u16(hello.rail).u32(hello.serial.value).u64(hello.comm);
  wire.u64(hello.id).fixed(kPlain).flag(hello.announce).u16(hello.port).unused(4).bytes(hello.nonce);
  return witness::lay_out(wire, hello.witness);
}

bool lay_out(auto&& wire, WireMessage<Welcome> auto& welcome) {
  wire.fixed(kProtocolVersion)
      .u8(welcome.status)
      .fixed(kPlain)
      .flag(welcome.direct)
      .u32(welcome.serial.value);
  return witness::lay_out(wire.bytes(welcome.nonce), welcome.witness);
}

// M. The label says what is signed, so that no tag can stand for another.
Tag sign(const Token& token, std::string_view label, std::initializer_list<Bytes> parts) {
  const Bytes first = std::as_bytes(std::span(label));
  std::vector<std::byte> input(first.begin(), first.end());
  for (const Bytes part : parts) {
    input.insert(input.end(), part.begin(), part.end());
  }
  return siphash(token, input);
}

using namespace std::string_view_literals;
constexpr std::string_view kIdLabel = "\0id"sv, kHelloLabel = "\1C"sv, kWelcomeLabel = "\2S"sv,
                           kProofLabel = "\3C"sv, kWitnessLabel = "w"sv;

Tag sign_hello(const HelloBytes& hello, const Token& token) {
  return sign(token, kHelloLabel, {Bytes(hello).first(kHelloTagAt)});
}

Tag sign_welcome(Bytes welcome, const HelloBytes& hello, const Token& token) {
  return sign(token, kWelcomeLabel, {hello, welcome.first(kWelcomeTagAt)});
}

Bytes tag_of(const HelloBytes& hello) { return Bytes(hello).subspan(kHelloTagAt); }
Bytes tag_of(const WelcomeBytes& welcome) { return Bytes(welcome).subspan(kWelcomeTagAt); }

bool matches(Bytes tag, const Tag& expected) {
  Tag given{};
  std::copy(tag.begin(), tag.end(), given.begin());
  return equal_in_constant_time(given, expected);
}

}  // namespace

std::uint64_t token_id(const Token& token) {
  std::uint64_t id = 0;
  WireReader(sign(token, kIdLabel, {})).u64(id);
  return id;
}

Nonce nonce_of_lane(const Nonce& comm, stripe::LaneSerial serial) {
  return siphash(comm, std::as_bytes(std::span(&serial.value, 1)));
}

HelloBytes encode(const Hello& hello) {
  Hello named = hello;
  named.id = token_id(hello.token);
  HelloBytes bytes{};
  lay_out(WireWriter(bytes), named);
  WireWriter(bytes).at(kHelloTagAt).bytes(sign_hello(bytes, hello.token));
  return bytes;
}

std::optional<Hello> decode_hello(Bytes body) {
  Hello hello;
  const bool known = body.size() == sizeof(HelloBytes) && lay_out(WireReader(body), hello) &&
                     (hello.kind == HelloKind::opens || hello.kind == HelloKind::joins);
  return known && hello.serial.value != 0 ? std::optional(hello) : std::nullopt;
}

bool is_signed(const HelloBytes& hello, const Token& token) {
  return matches(tag_of(hello), sign_hello(hello, token));
}

WelcomeBytes encode(const Welcome& welcome, const HelloBytes& hello, const Token& token) {
  WelcomeBytes bytes{};
  lay_out(WireWriter(bytes), welcome);
  WireWriter(bytes).at(kWelcomeTagAt).bytes(sign_welcome(bytes, hello, token));
  return bytes;
}

std::optional<Welcome> decode_welcome(Bytes body, const HelloBytes& hello, const Token& token) {
  Welcome welcome;
  if (body.size() != sizeof(WelcomeBytes) || !lay_out(WireReader(body), welcome) ||
      !matches(body.subspan(kWelcomeTagAt), sign_welcome(body, hello, token))) {
    return std::nullopt;
  }
  const bool known = welcome.status == WelcomeStatus::ok || welcome.status == WelcomeStatus::gone;
  const bool same = std::equal(&body[kSerialAt], &body[kSerialAt] + sizeof welcome.serial, &hello[kSerialAt]);
  return known && same ? std::optional(welcome) : std::nullopt;
}

Tag proof_of(const HelloBytes& hello, const WelcomeBytes& welcome, const Token& token) {
  return sign(token, kProofLabel, {tag_of(hello), tag_of(welcome)});
}

bool is_proof(Bytes body, const Tag& expected) {
  return body.size() == expected.size() && matches(body, expected);
}

witness::Token witness_key(const Token& token, std::uint64_t one_process, std::uint64_t other_process) {
  std::array<std::byte, 2 * sizeof one_process> processes;
  WireWriter(processes).u64(std::min(one_process, other_process)).u64(std::max(one_process, other_process));
  return sign(token, kWitnessLabel, {processes});
}

}  // namespace tfabric::session
